"""The papers' figures again, each with its data, its plot and a computed verdict on each claim.

One module per figure or table; `catalogue.py` lists them, `publishing.py` writes their files.
Needs the extra `models`. A claim that does not hold is told so; no reading is bent until it does.
"""
