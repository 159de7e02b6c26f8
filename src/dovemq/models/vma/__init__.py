"""The queue service of the paper `vma`: one set of parameters, and three methods to evaluate it.

    from dovemq.models.vma.methods import METHODS
    from dovemq.models.vma.parameters import VmaParameters

    METHODS["analytic"](VmaParameters(30.3, 10, 10, 5, 5, reliability=0.99))

`parameters.py` describes the service; `methods.py` evaluates it by closed form, by the compiled
simulation kernel and by the coloured Petri net, and gives all results the same form.
"""
