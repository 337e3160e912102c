"""The operator versions that the loader knows are those that the LiteRT wheel registers."""

from __future__ import annotations

import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from formats.models import code, codes, edited
from oracles import tflite_builder as tfl

from npusim.formats.tflite_operators import SUPPORTED

RESOLVERS = (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)


def is_registered(operator: int, version: int, resolver: OpResolverType) -> bool:
    data = tfl.model([codes("x", 1, 2), codes("y", 1, 2)], [tfl.relu(0, 1)])
    change = code(0, builtinCode=operator, deprecatedBuiltinCode=operator, version=version)
    try:
        Interpreter(model_content=edited(data, change), experimental_op_resolver_type=resolver)
    except ValueError as error:
        return "Didn't find op for builtin opcode" not in str(error)
    return True


@pytest.mark.parametrize("operator", SUPPORTED)
def test_newest_version_is_litert_s(operator):
    newest = SUPPORTED[operator].version
    assert any(is_registered(operator, newest, resolver) for resolver in RESOLVERS)
    assert not any(is_registered(operator, newest + 1, resolver) for resolver in RESOLVERS)
