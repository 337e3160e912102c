"""C code against Python, bit for bit, on this host and on a Cortex-M55 in QEMU; see README.md."""
