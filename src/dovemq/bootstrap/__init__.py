"""The only composition root.

`opening` makes a service over a store, and `serving` a server from settings.
Everything that constructors take is made here: clock, random generator, ids, store.
"""
