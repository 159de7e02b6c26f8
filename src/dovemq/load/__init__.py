"""Load on a queue service, and the account of what became of every message.

Speaks to a service as any client does and believes nothing but what clients themselves saw: their
journals. Needs the extra `models`.
"""
