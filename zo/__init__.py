"""zo: zeroth-order training of int8 networks on npusim, in integers.

What a user meets:

    train -> Result, with an Epoch and its Cost per epoch     a run
    train_float32 -> FloatResult                              what int8 costs it
    Options, Method, Reuse, Hooks, PAPER                      how it trains
    QScheduler, with Budget; CostAware, Gate                  q by what an epoch came to
    Constant, Declared, linear_ramp, epoch_power              q declared
    UserSchedule                                              q by a function
    UserLoss, ErrorCount, squared_error_loss                  objectives besides cross-entropy
    attach_head, with HeadOptions, WarmUp, Reading            a new classifier
    adapt -> Adaptation                                       other images, without labels
    measure_statistics, store_statistics                      what `adapt` goes by
    data                                                      labelled images
    write_back -> WriteBack, of Written                       into the .tflite file it came from
    c_sources                                                 the same arithmetic in C99

The code, from the inside out:

    fixed_point, twins, kernels                               roundings; NumPy and numba, equal bits
    prng, perturb, loss, estimate, exact_head, update         the arithmetic of a step
    recalibrate, bias                                         scales that follow, biases as codes
    data, features, cache, digest, atomic                     images, and files found by content
    trainable, classifier, batch                              a session and images for a step
    sampling, sampled_head, step                              one step
    rate, default_rates                                       how fast
    metric, ladder, budget, evidence                          what schedules go by
    schedule, gate, cost_aware, declared, user_schedule       how many samples
    early_stopping                                            how long
    options, prepare, run, evaluate, cost, history            a run from epoch to epoch
    checkpoint, run_state, interrupt, result, train           a run from outside
    warm_up, new_head                                         a float head, and int8 with head-room
    moments, adapt                                            channel statistics
    file_scales, write_back                                   back into the user's own file
    sources, c                                                C99 twins of the arithmetic
    float_reference                                           the same run in float32
    export                                                    a run as a C project
    reproduce                                                 comparisons, as tables and figures
    plots, report                                             pictures of runs, and a page
    bench, clock, demo, commands, cli                         the `zo` command
"""

from . import data
from .adapt import Adaptation, adapt
from .budget import Budget
from .cost import Cost
from .cost_aware import CostAware
from .declared import Constant, Declared, epoch_power, linear_ramp
from .float_reference import FloatResult, train_float32
from .gate import Gate
from .history import Epoch
from .loss import ErrorCount, UserLoss, squared_error_loss
from .moments import measure_statistics, store_statistics
from .new_head import HeadOptions, Reading, attach_head
from .options import PAPER, Hooks, Method, Options, Reuse
from .result import Result
from .schedule import QScheduler
from .sources import c_sources
from .train import train
from .user_schedule import UserSchedule
from .warm_up import WarmUp
from .write_back import WriteBack, Written, write_back

__all__ = [
    "PAPER",
    "Adaptation",
    "Budget",
    "Constant",
    "Cost",
    "CostAware",
    "Declared",
    "Epoch",
    "ErrorCount",
    "FloatResult",
    "Gate",
    "HeadOptions",
    "Hooks",
    "Method",
    "Options",
    "QScheduler",
    "Reading",
    "Result",
    "Reuse",
    "UserLoss",
    "UserSchedule",
    "WarmUp",
    "WriteBack",
    "Written",
    "adapt",
    "attach_head",
    "c_sources",
    "data",
    "epoch_power",
    "linear_ramp",
    "measure_statistics",
    "squared_error_loss",
    "store_statistics",
    "train",
    "train_float32",
    "write_back",
]
