"""oncelog, as its users meet it: the command line, and the launcher that finds the broker's code.

Nothing here imports the broker's four folders except `launcher`; the commands speak to a broker
over the wire, like any other client.
"""

__version__ = "0.1.0"
