"""Settings: what may be chosen, and what is refused."""

import pytest
from training_tasks import head_task, run_to_end

import zo
from zo.loss import ErrorCount


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"estimator": "two_sided"}, "estimator must be one of one_sided, centred, central, sign"),
        ({"lr_scaling": "sqrt"}, "lr_scaling must be one of linear, none, got 'sqrt'"),
        ({"decay": "step"}, "decay must be one of cosine, constant, got 'step'"),
        ({"space": "float"}, "space must be one of real, integer, got 'float'"),
        ({"rule": "floor"}, "rule must be one of error_feedback"),
        ({"k": 127}, r"k must be 1\.\.126 weight steps, got 127"),
        ({"estimator": "central", "k": 64}, r"k must be 1\.\.63 weight steps, got 64"),
        ({"momentum": 1.0}, r"momentum must be in 0\.\.1, below 1, got 1\.0"),
        (
            {"perturbation": "saturate", "estimator": "central"},
            "saturate needs one_sided",
        ),
        (
            {"exact_head": True, "loss": ErrorCount(3)},
            "exact_head is the gradient of cross-entropy, got loss ErrorCount; train the head by",
        ),
    ],
)
def test_method_rejects_wrong_choices(changes, message):
    with pytest.raises(ValueError, match=message):
        zo.Method(**changes)


def test_options_reject_wrong_numbers():
    with pytest.raises(ValueError, match="epochs must be 1 or more, got 0"):
        zo.Options(epochs=0)


def test_policy_and_method_exclude_each_other():
    task = head_task(seed=1)
    with pytest.raises(ValueError, match="is set by policy paper, got both; give one of them"):
        run_to_end(task, None, policy="paper", method=zo.Method())
    with pytest.raises(ValueError, match="policy must be one of ours, paper, got 'best'"):
        run_to_end(task, None, policy="best")
