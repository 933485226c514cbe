"""Python source for one message.

Owns the shape of the generated classes. It must never know where schemas come from nor where
the source goes.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable

from scripts.message_memory import element_size
from scripts.message_schema import Field, Message, Struct, all_versions
from scripts.message_steps import (
    INDENT,
    Default,
    Fixed,
    Line,
    Step,
    chain,
    common_tail,
    flat,
    indented,
    intervals,
    merged,
)

LINE_LENGTH = 100

FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
PYTHON_TYPES = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "Buffer",
}
LISTS = ("int8", "int32", "int64")
"""Element types of arrays that the Reader takes in one go."""


class MessageCode:
    """Writes one message's classes, and remembers which names they need imported."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.layouts: set[str] = set()
        self.imports: set[str] = set()

    def classes(self) -> list[str]:
        root = self.message.root
        lines = [f"class {root.name}({self._base()}):", *indented(self._constants(), 1)]
        for struct in self.message.structs:
            lines += ["", f"{INDENT}class {struct.name}(Part):"]
            lines += indented(self._members(struct), 2)
        return [*lines, "", *indented(self._members(root), 1)]

    def _base(self) -> str:
        return "Message" if self.message.api_key is None else "ApiMessage"

    def _constants(self) -> list[str]:
        message = self.message
        lines = [] if message.api_key is None else [f"API_KEY: ClassVar[int] = {message.api_key}"]
        return [
            *lines,
            f"MIN_VERSION: ClassVar[int] = {message.versions[0]}",
            f"MAX_VERSION: ClassVar[int] = {message.versions[1]}",
            f"FLEXIBLE_FROM: ClassVar[int | None] = {message.flexible_from}",
        ]

    def _members(self, struct: Struct) -> list[str]:
        names = [item.name for item in struct.fields]
        if any(keyword.iskeyword(name) for name in names):
            raise SystemExit(f"{struct.name} has a field named like a keyword")
        slots = wrapped("__slots__ = (", [f'"{name}"' for name in names], ")", 2)
        sizes = [] if struct is self.message.root else ["", *self._element_sizes(struct)]
        return [
            *slots,
            *sizes,
            *self._init(struct),
            *self._decode(struct),
            *self._encode(struct),
        ]

    def _element_sizes(self, struct: Struct) -> list[str]:
        """What the struct takes as an array element, indexed by version."""
        first, last = struct.versions
        sizes = [element_size(self.message, struct, max(first, v)) for v in range(last + 1)]
        head = "ELEMENT_SIZES: ClassVar[tuple[ElementSize, ...]] = ("
        self.imports.add("ElementSize")
        return filled(head, [str(size) for size in sizes], ")", 2)

    # The constructor.

    def _init(self, struct: Struct) -> list[str]:
        if not struct.fields:
            return []
        arguments = [self._argument(item) for item in struct.fields]
        head = ["", "def __init__(", f"{INDENT}self,", f"{INDENT}*,"]
        lines = [f"{INDENT}{argument}," for argument in arguments]
        body = [f"{INDENT}self.{item.name} = {self._initial(item)}" for item in struct.fields]
        return [*head, *lines, ") -> None:", *body]

    def _argument(self, item: Field) -> str:
        if item.struct is not None and not item.is_array and not self._is_nullable(item):
            return f"{item.name}: {self._type(item)} | None = None"
        default = self._default(item)
        if default == "[]":
            self.imports.add("EMPTY")
            default = "EMPTY"
        return f"{item.name}: {self._annotation(item)} = {default}"

    def _initial(self, item: Field) -> str:
        default = self._default(item)
        if default == "[]":
            return f"[] if {item.name} is EMPTY else {item.name}"
        if item.struct is not None and not item.is_array and default != "None":
            return f"{default} if {item.name} is None else {item.name}"
        return item.name

    def _is_nullable(self, item: Field) -> bool:
        return any(item.is_nullable(version) for version in all_versions(self.message.versions))

    def _struct_name(self, struct: Struct) -> str:
        return f"{self.message.name}.{struct.name}"

    def _type(self, item: Field) -> str:
        if item.struct is not None:
            name = self._struct_name(item.struct)
        else:
            name = PYTHON_TYPES.get(item.type, "int")
        if name == "Buffer":
            self.imports.add("Buffer")
        return f"list[{name}]" if item.is_array else name

    def _annotation(self, item: Field) -> str:
        return f"{self._type(item)} | None" if self._is_nullable(item) else self._type(item)

    def _default(self, item: Field) -> str:
        text = item.default
        if text == "null" or (item.type == "records" and self._is_nullable(item)):
            return "None"
        if item.is_array:
            return "[]"
        if item.struct is not None:
            if self._is_nullable(item):
                raise SystemExit(f"{item.name} is nullable but not null by default")
            return f"{self._struct_name(item.struct)}()"
        if item.type == "string":
            return f'"{text or ""}"'
        if item.type in ("bytes", "records"):
            return 'b""'
        if item.type == "uuid":
            self.imports.add("ZERO_UUID")
            return "ZERO_UUID"
        if item.type == "bool":
            return "True" if text == "true" else "False"
        return str(float(text or 0)) if item.type == "float64" else str(int(text or "0", 0))

    # Decoding.

    def _decode(self, struct: Struct) -> list[str]:
        lines = [*self._version_check(struct), "self = cls.__new__(cls)"]
        for step in merged(self._steps(struct, self._read, self._absent)):
            lines += chain(step, struct.versions, self._unpack)
        lines += self._tag_section(struct, self._read_tags, ["reader.skip_tagged_fields()"])
        head = ["", "@classmethod", "def decode(cls, reader: Reader, version: int) -> Self:"]
        return [*head, *indented([*lines, "return self"], 1)]

    def _version_check(self, struct: Struct) -> list[str]:
        if struct is not self.message.root:
            return []
        first, last = self.message.versions
        self.imports.add("unsupported")
        test = f"version != {first}" if first == last else f"not {first} <= version <= {last}"
        return [f"if {test}:", f"{INDENT}raise unsupported({struct.name}, version)"]

    def _steps(
        self,
        struct: Struct,
        code: Callable[[Field, int], list[Line]],
        absent: Callable[[Field], list[Line]],
    ) -> list[Step]:
        """The steps of all untagged fields, each followed by what its branches have in common."""
        steps: list[Step] = []
        for item in struct.fields:
            branches: dict[int, list[Line]] = {}
            for version in all_versions(struct.versions):
                here = item.is_present(version) and not item.is_tagged(version)
                branches[version] = code(item, version) if here else absent(item)
            tail = common_tail(list(branches.values()))
            if tail:
                branches = {version: lines[: -len(tail)] for version, lines in branches.items()}
            steps += [intervals(branches), intervals(dict.fromkeys(branches, tail))]
        return [step for step in steps if any(lines for _, lines in step)]

    def _absent(self, item: Field) -> list[Line]:
        return [Default(f"self.{item.name} = {self._default(item)}")]

    def _prefix(self, item: Field, version: int) -> str:
        compact = "compact_" if self.message.is_flexible(version) else ""
        return compact + ("nullable_" if item.is_nullable(version) else "")

    def _read(self, item: Field, version: int) -> list[Line]:
        target = f"self.{item.name}"
        if item.is_array:
            return [*self._read_array(item, version)]
        if item.struct is not None:
            value = f"{self._struct_name(item.struct)}.decode(reader, version)"
            if item.is_nullable(version):
                value += " if reader.is_present() else None"
            return [f"{target} = {value}"]
        if item.type in FORMATS:
            return [Fixed(FORMATS[item.type], item.name)]
        method = self._prefix(item, version) + item.type
        return [f"{target} = reader.{'bytes_' if method == 'bytes' else method}()"]

    def _read_array(self, item: Field, version: int) -> list[str]:
        compact = "compact_" if self.message.is_flexible(version) else ""
        before: list[str] = []
        if item.struct is not None:
            name = self._struct_name(item.struct)
            element = f"{name}.ELEMENT_SIZES[version]"
            before = [f"decode_{item.name} = {name}.decode"]
            value = f"[decode_{item.name}(reader, version) for _ in range(count)]"
        else:
            prefix = compact if item.type == "string" else ""
            if item.type != "string" and item.type not in LISTS:
                raise SystemExit(f"no arrays of {item.type}")
            element = f"{prefix}{item.type}_element".upper()
            self.imports.add(element)
            value = f"reader.{prefix}{item.type}_list(count)"
        if self._is_nullable(item):
            value = f"None if count < 0 else {value}"
        count = f"count = reader.{self._prefix(item, version)}count({element})"
        return [count, *before, f"self.{item.name} = {value}"]

    def _unpack(self, run: list[Fixed]) -> str:
        targets = [f"self.{fixed.attribute}" for fixed in run]
        left = ", ".join(targets) if len(targets) > 1 else f"({targets[0]},)"
        return f"{left} = reader.unpack({self._layout(run)})"

    def _layout(self, run: list[Fixed]) -> str:
        layout = "".join(fixed.format for fixed in run)
        self.layouts.add(layout)
        return layout_name(layout)

    def _tag_section(
        self, struct: Struct, known: Callable[[Struct, int], list[str]], unknown: list[str]
    ) -> list[str]:
        """Lines for the tagged fields that end a flexible struct."""
        branches: dict[int, list[Line]] = {}
        for version in all_versions(struct.versions):
            is_flexible = self.message.is_flexible(version)
            branches[version] = [*(known(struct, version) or unknown)] if is_flexible else []
        return chain(intervals(branches), struct.versions, self._unpack)

    def _read_tags(self, struct: Struct, version: int) -> list[str]:
        tagged = tags(struct, version)
        if not tagged:
            return []
        lines = ["for _ in range(reader.tag_count()):", f"{INDENT}number, end = reader.tag()"]
        for position, item in enumerate(tagged):
            branch = "elif" if position else "if"
            lines.append(f"{INDENT}{branch} number == {item.tag}:")
            lines += indented(flat(self._read(item, version), self._unpack), 2)
        lines += [f"{INDENT}else:", f"{INDENT * 2}reader.position = end"]
        return [*lines, f"{INDENT}reader.end_tag(end)"]

    # Encoding.

    def _encode(self, struct: Struct) -> list[str]:
        lines = self._version_check(struct)
        body: list[str] = []
        for step in merged(self._steps(struct, self._write, lambda _: [])):
            body += chain(step, struct.versions, self._pack)
        body += self._tag_section(struct, self._write_tags, ["buffer.append(0)"])
        if any(line.lstrip().startswith("buffer") for line in body):
            lines.append("buffer = writer.buffer")
        if any("tagged.append" in line for line in body):
            lines.append("tagged: list[tuple[int, Writer]] = []")
        head = ["", "def encode(self, writer: Writer, version: int) -> None:"]
        return [*head, *indented([*lines, *body] or ["pass"], 1)]

    def _pack(self, run: list[Fixed]) -> str:
        values = ", ".join(f"self.{fixed.attribute}" for fixed in run)
        return f"buffer += {self._layout(run)}.pack({values})"

    def _write(self, item: Field, version: int, to: str = "writer") -> list[Line]:
        if item.is_array:
            return [*self._write_array(item, version, to)]
        value = f"self.{item.name}"
        if item.struct is not None:
            return [*self._write_struct(item, version, to)]
        if item.type in FORMATS:
            return [Fixed(FORMATS[item.type], item.name)]
        kind = "bytes" if item.type == "records" else item.type
        method = self._prefix(item, version) + kind
        if method == "bytes":
            method = "bytes_"
        return [f"{to}.{method}({self._required(item, value, version)})"]

    def _required(self, item: Field, value: str, version: int) -> str:
        if item.is_nullable(version) or not self._is_nullable(item):
            return value
        self.imports.add("required")
        return f"required({value})"

    def _write_struct(self, item: Field, version: int, to: str) -> list[str]:
        value = f"self.{item.name}"
        if not item.is_nullable(version):
            return [f"{value}.encode({to}, version)"]
        return [
            f"{to}.present({value} is not None)",
            f"if {value} is not None:",
            f"{INDENT}{value}.encode({to}, version)",
        ]

    def _write_array(self, item: Field, version: int, to: str) -> list[str]:
        compact = "compact_" if self.message.is_flexible(version) else ""
        value = self._required(item, f"self.{item.name}", version)
        each = f"{item.name}_item"
        body = [f"{to}.{compact}count(len({value}))"]
        if item.struct is not None:
            body += [f"for {each} in {value}:", f"{INDENT}{each}.encode({to}, version)"]
        elif item.type == "string":
            body += [f"for {each} in {value}:", f"{INDENT}{to}.{compact}string({each})"]
        else:
            body.append(f"{to}.{item.type}_list({value})")
        if not item.is_nullable(version):
            return body
        null = [f"if {value} is None:", f"{INDENT}{to}.{compact}null_count()", "else:"]
        return [*null, *indented(body, 1)]

    def _write_tags(self, struct: Struct, version: int) -> list[str]:
        tagged = tags(struct, version)
        if not tagged:
            return []
        lines: list[str] = []
        for item in tagged:
            lines.append(f"if {self._differs(item, f'self.{item.name}')}:")
            lines.append(f"{INDENT}value = Writer()")
            lines += indented(self._write_tag(item, version), 1)
            lines.append(f"{INDENT}tagged.append(({item.tag}, value))")
        return [*lines, "writer.tagged_fields(tagged)"]

    def _write_tag(self, item: Field, version: int) -> list[str]:
        lines = self._write(item, version, "value")
        return flat(lines, lambda run: f"value.{self._pack(run)}")

    def _differs(self, item: Field, value: str) -> str:
        """A test whether a tagged field must be written: Kafka leaves out defaults."""
        default = self._default(item)
        if default == "None":
            return f"{value} is not None"
        if item.struct is not None and not item.is_array:
            return " or ".join(self._differs(it, f"{value}.{it.name}") for it in item.struct.fields)
        if default in ("[]", "False", '""', 'b""', "0") and not self._is_nullable(item):
            return value
        return f"{value} != {default}"


def tags(struct: Struct, version: int) -> list[Field]:
    """The fields that are tagged in `version`, in the order in which they must be written."""
    found = [item for item in struct.fields if item.is_tagged(version)]
    return sorted(found, key=lambda item: item.tag or 0)


def layout_name(layout: str) -> str:
    return "_" + layout.replace("?", "o").replace("16s", "u")


def wrapped(head: str, items: list[str], tail: str, depth: int) -> list[str]:
    """A bracketed list on one line if it fits, else one item on each."""
    trailing = "," if len(items) == 1 else ""
    line = f"{head}{', '.join(items)}{trailing}{tail}"
    if len(line) + depth * len(INDENT) <= LINE_LENGTH:
        return [line]
    return [head, *(f"{INDENT}{item}," for item in items), tail]


def filled(head: str, items: list[str], tail: str, depth: int) -> list[str]:
    """A bracketed list with as many items on a line as fit."""
    lines = wrapped(head, items, tail, depth)
    if len(lines) == 1:
        return lines
    rows = [""]
    for item in items:
        if len(rows[-1]) + len(item) + (depth + 1) * len(INDENT) + 2 > LINE_LENGTH:
            rows.append("")
        rows[-1] += f"{item}, "
    return [head, *(INDENT + row.rstrip() for row in rows), tail]
