"""The C that calls every function of some headers with arguments from a batch.

    calls.c reads a record, `dispatch(batch, number)` takes the arguments in the order of the
    prototype, calls, and puts the results in the same order

Nothing is written by hand for a function, so a kernel is tested as soon as its header exists.
"""

from collections.abc import Iterator

from .headers import CALLBACK, REALS, Declarations, Function, Parameter, reaches_callback


def callable_functions(found: Declarations) -> list[Function]:
    """The functions a record can call, by name; a record holds the index in this list.

    Left out: what needs a function pointer, or returns a pointer into its arguments.
    """
    return [
        function
        for _, function in sorted(found.functions.items())
        if not function.returns.pointer
        and not any(reaches_callback(found, parameter) for parameter in function.parameters)
    ]


def dispatcher(found: Declarations) -> str:
    """The source of the dispatcher."""
    functions = callable_functions(found)
    headers = sorted({function.header for function in functions})
    lines = ['#include "calls.h"', *(f'#include "{header}"' for header in headers), ""]
    for name in _structs_in_order(found, functions):
        lines += [*_take_struct(found, name), *_put_struct(found, name)]
    for function in functions:
        lines += _call(function)
    lines += ["int dispatch(struct batch *batch, uint32_t function)", "{"]
    lines += ["    switch (function) {"]
    for number, function in enumerate(functions):
        lines += [f"    case {number}:", f"        call_{function.name}(batch);", "        break;"]
    lines += ["    default:", "        return 0;", "    }", "    return 1;", "}", ""]
    return "\n".join(lines)


def _structs_in_order(found: Declarations, functions: list[Function]) -> list[str]:
    """Every struct the functions need, each after those it holds."""
    order: list[str] = []

    def visit(parameter: Parameter) -> None:
        if parameter.struct and parameter.struct not in order:
            for field in found.structs[parameter.struct]:
                visit(field)
            order.append(parameter.struct)

    for function in functions:
        for parameter in (function.returns, *function.parameters):
            visit(parameter)
    return order


def _take(parameter: Parameter) -> str:
    """The expression that takes one argument."""
    if parameter.struct:
        return f"take_{parameter.struct}(batch)"
    if parameter.pointer:
        element = "int8_t" if parameter.type == "void" else parameter.type
        return f"batch_elements(batch, sizeof({element}))"
    number = "batch_real" if parameter.type in REALS else "batch_integer"
    return f"({parameter.type}){number}(batch)"


def _put(parameter: Parameter, expression: str, scalars: str) -> Iterator[str]:
    """The statements that put one argument after the call; numbers if `scalars` holds in C."""
    if parameter.struct and parameter.pointer:
        many, changed = f"batch_count(batch, {expression})", int(not parameter.const)
        yield f"    put_{parameter.struct}(batch, {expression}, {many}, {changed});"
    elif parameter.struct:
        yield f"    put_{parameter.struct}(batch, &{expression}, 1, {scalars});"
    elif parameter.pointer and not parameter.const:
        yield f"    batch_put_elements(batch, {expression});"
    elif not parameter.pointer and scalars != "0":
        condition = "" if scalars == "1" else f"if ({scalars}) "
        real = parameter.type in REALS
        kind, wide = ("real", "double") if real else ("integer", "int64_t")
        yield f"    {condition}batch_put_{kind}(batch, ({wide}){expression});"


def _take_struct(found: Declarations, name: str) -> Iterator[str]:
    yield f"static struct {name} *take_{name}(struct batch *batch)"
    yield "{"
    yield f"    struct {name} *made = batch_structs(batch, sizeof *made);"
    yield "    const size_t count = made == NULL ? 0 : batch_count(batch, made);"
    yield "    for (size_t i = 0; i < count; i++) {"
    for field in found.structs[name]:
        if field.struct and not field.pointer:
            yield f"        made[i].{field.name} = *{_take(field)};"
        else:
            yield f"        made[i].{field.name} = {_take(field)};"
    yield from ("    }", "    return made;", "}", "")


def _put_struct(found: Declarations, name: str) -> Iterator[str]:
    yield f"static void put_{name}(struct batch *batch, const struct {name} *made, size_t count,"
    yield "                    int scalars)"
    yield "{"
    yield "    for (size_t i = 0; i < count; i++) {"
    for field in found.structs[name]:
        yield from (f"    {line}" for line in _put(field, f"made[i].{field.name}", "scalars"))
    yield from ("    }", "    (void)batch;", "    (void)made;", "    (void)scalars;", "}", "")


def _call(function: Function) -> Iterator[str]:
    names = [f"a{i}" for i in range(len(function.parameters))]
    yield f"static void call_{function.name}(struct batch *batch)"
    yield "{"
    for name, parameter in zip(names, function.parameters, strict=True):
        assert parameter.type != CALLBACK
        const = "const " if parameter.const else ""
        star = " *" if parameter.pointer else " "
        yield f"    {const}{parameter.type}{star}{name} = {_take(parameter)};"
    yield "    if (batch->error != BATCH_OK) {"
    yield "        return;"
    yield "    }"
    call = f"{function.name}({', '.join(names)})"
    if function.returns.type == "void":
        yield f"    {call};"
    else:
        yield f"    const {function.returns.type} result = {call};"
        yield from _put(function.returns, "result", "1")
    for name, parameter in zip(names, function.parameters, strict=True):
        yield from _put(parameter, name, "0")
    yield from ("}", "")
