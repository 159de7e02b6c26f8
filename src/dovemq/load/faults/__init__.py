"""Faults brought about on purpose, under a seed: of the network, clients, server, disk and clock.

Nothing here judges what came of them: that is the checker's part. Nothing but Linux is known to
let a disk and a clock be replaced under a process.
"""
