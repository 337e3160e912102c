"""What a training run came to, for people: one HTML page."""

from .facts import Confusion, LayerFacts, RunReport, Wrong, judge, layer_facts
from .page import html

__all__ = ["Confusion", "LayerFacts", "RunReport", "Wrong", "html", "judge", "layer_facts"]
