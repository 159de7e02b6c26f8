"""`dovemq top`: the overview and one queue, live in a terminal.

Owns what is asked each second, its values and their texts, and the screens. It asks nothing but
the admin API. Only `app` and the screens need the extra `top`.
"""
