"""All tests; the folders mirror those of the product."""
