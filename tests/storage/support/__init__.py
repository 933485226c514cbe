"""What the storage tests share: batches, a recording file system, disk images, a toy broker."""
