"""zo: zeroth-order training of int8 networks on npusim, in integers.

What a user meets:

    train -> Result, with an Epoch and its Cost per epoch     a run
    Options, Method, Reuse, Hooks, PAPER                      how it trains
    QScheduler, Constant, Declared                            q by epoch
    UserLoss, ErrorCount, squared_error_loss                  objectives besides cross-entropy
    attach_head, with HeadOptions, WarmUp, Reading            a new classifier
    adapt -> Adaptation                                       other images, without labels
    measure_statistics, store_statistics                      what `adapt` goes by
    data                                                      labelled images
    c_sources                                                 the same arithmetic in C99

The code, from the inside out:

    fixed_point, twins, kernels                               roundings; NumPy and numba, equal bits
    prng, perturb, loss, estimate, exact_head, update         the arithmetic of a step
    recalibrate, bias                                         scales that follow, biases as codes
    data, features, digest, atomic                            images, and files found by content
    trainable, classifier, batch                              a session and images for a step
    sampling, sampled_head, step                              one step
    rate, default_rates, schedule, metric, early_stopping     how fast, how many samples, how long
    options, prepare, run, evaluate, cost, history            a run from epoch to epoch
    checkpoint, run_state, interrupt, result, train           a run from outside
    warm_up, new_head                                         a float head, and int8 with head-room
    moments, adapt                                            channel statistics
    sources, c                                                C99 twins of the arithmetic
    export                                                    a run as a C project
    bench, demo, commands, cli                                the `zo` command
"""

from . import data
from .adapt import Adaptation, adapt
from .cost import Cost
from .history import Epoch
from .loss import ErrorCount, UserLoss, squared_error_loss
from .moments import measure_statistics, store_statistics
from .new_head import HeadOptions, Reading, attach_head
from .options import PAPER, Hooks, Method, Options, Reuse
from .result import Result
from .schedule import Constant, Declared, QScheduler
from .sources import c_sources
from .train import train
from .warm_up import WarmUp

__all__ = [
    "PAPER",
    "Adaptation",
    "Constant",
    "Cost",
    "Declared",
    "Epoch",
    "ErrorCount",
    "HeadOptions",
    "Hooks",
    "Method",
    "Options",
    "QScheduler",
    "Reading",
    "Result",
    "Reuse",
    "UserLoss",
    "WarmUp",
    "adapt",
    "attach_head",
    "c_sources",
    "data",
    "measure_statistics",
    "squared_error_loss",
    "store_statistics",
    "train",
]
