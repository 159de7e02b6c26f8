"""Figures of the papers, reproduced: data, plot and a verdict on each claim.

`catalogue.py` lists the figures, `publishing.py` writes their files. Needs the extra `models`. A
claim that does not hold is reported as such; no threshold is chosen to make it hold.
"""
