"""A checker for the part of JSON Schema 2020-12 that openapi.json uses.

`Schemas(document).faults(schema, value)` returns everything in a value that its schema does not
allow, each with its JSON pointer. An unknown keyword is an error, so that no keyword is ignored.
"""

import datetime
import math
import re

# Documentation, or checked elsewhere.
ANNOTATIONS = {"title", "description", "default", "example", "examples", "contentMediaType"}
TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def matches(pattern, text):
    """As in ECMA-262, where `$` is the end and nothing else, and `\\d` is ASCII."""
    return re.search(re.sub(r"\$$", r"\\Z", pattern), text, re.ASCII) is not None


class Schemas:
    def __init__(self, document):
        self.document = document
        self.compiled = {}

    def resolve(self, node):
        """The target of a reference; the node itself when it is not one."""
        while "$ref" in node:
            target = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            node = target
        return node

    def faults(self, schema, value, pointer=""):
        if id(schema) not in self.compiled:
            # Keeps the schema alive, so that no other object gets its id.
            self.compiled[id(schema)] = (self._compile(schema), schema)
        found = []
        self.compiled[id(schema)][0](value, pointer, found)
        return found

    def properties(self, schema):
        """Every property that an object may have, including those in `allOf`."""
        schema = self.resolve(schema)
        names = {}
        for part in schema.get("allOf", []):
            names.update(self.properties(part))
        names.update(schema.get("properties", {}))
        return names

    def _compile(self, schema):
        if "$ref" in schema:
            assert set(schema) <= {"$ref", "description"}, f"beside a reference: {schema}"
            target = self.resolve(schema)
            return lambda value, pointer, found: found.extend(self.faults(target, value, pointer))
        checks = [getattr(self, "_" + keyword.lower())(argument, schema)
                  for keyword, argument in schema.items()
                  if keyword not in ANNOTATIONS and not keyword.startswith("x-")]

        def check(value, pointer, found):
            for each in checks:
                each(value, pointer, found)
        return check

    # --- One method for each keyword, in lower case ----------------------------------------------

    def _type(self, names, _):
        names = [names] if isinstance(names, str) else names
        tests = [TYPES[name] for name in names]

        def check(value, pointer, found):
            if not any(test(value) for test in tests):
                found.append(f"{pointer}: {value!r:.80} is not of type {' or '.join(names)}")
        return check

    @staticmethod
    def _enum(allowed, _):
        def check(value, pointer, found):
            if not any(value == each and isinstance(value, type(each)) for each in allowed):
                found.append(f"{pointer}: {value!r:.80} is none of {allowed}")
        return check

    def _const(self, allowed, schema):
        return self._enum([allowed], schema)

    @staticmethod
    def _limit(kind, measure, exceeds, what):
        def compiled(limit, _):
            def check(value, pointer, found):
                if TYPES[kind](value) and exceeds(measure(value), limit):
                    found.append(f"{pointer}: {value!r:.80} does not have {what} {limit}")
            return check
        return compiled

    def _minimum(self, limit, schema):
        return self._limit("number", lambda v: v, lambda v, m: v < m or math.isnan(v),
                           "a value of at least")(limit, schema)

    def _maximum(self, limit, schema):
        return self._limit("number", lambda v: v, lambda v, m: v > m, "a value of at most")(
            limit, schema)

    def _minlength(self, limit, schema):
        return self._limit("string", len, lambda v, m: v < m, "a length of at least")(limit, schema)

    def _maxlength(self, limit, schema):
        return self._limit("string", len, lambda v, m: v > m, "a length of at most")(limit, schema)

    def _minitems(self, limit, schema):
        return self._limit("array", len, lambda v, m: v < m, "a length of at least")(limit, schema)

    def _maxitems(self, limit, schema):
        return self._limit("array", len, lambda v, m: v > m, "a length of at most")(limit, schema)

    def _minproperties(self, limit, schema):
        return self._limit("object", len, lambda v, m: v < m, "a size of at least")(limit, schema)

    def _maxproperties(self, limit, schema):
        return self._limit("object", len, lambda v, m: v > m, "a size of at most")(limit, schema)

    def _pattern(self, pattern, schema):
        return self._limit("string", lambda v: v, lambda v, p: not matches(p, v), "the pattern")(
            pattern, schema)

    @staticmethod
    def _format(name, schema):
        """Checks that the day exists; the pattern beside it checks the notation."""
        assert name == "date-time" and "pattern" in schema, f"an unknown format: {schema}"

        def check(value, pointer, found):
            digits = re.match(r"(\d{4})-(\d{2})-(\d{2})", value) if isinstance(value, str) else None
            if digits is None:
                return
            try:
                datetime.date(*map(int, digits.groups()))
            except ValueError:
                found.append(f"{pointer}: {value!r:.80} is not a day")
        return check

    @staticmethod
    def _uniqueitems(unique, _):
        def check(value, pointer, found):
            if unique and isinstance(value, list) and any(
                    each in value[:i] for i, each in enumerate(value)):
                found.append(f"{pointer}: an item is repeated")
        return check

    def _items(self, items, _):
        def check(value, pointer, found):
            if isinstance(value, list):
                for i, each in enumerate(value):
                    found += self.faults(items, each, f"{pointer}/{i}")
        return check

    def _properties(self, properties, _):
        def check(value, pointer, found):
            if isinstance(value, dict):
                for name in value.keys() & properties.keys():
                    found += self.faults(properties[name], value[name], f"{pointer}/{name}")
        return check

    @staticmethod
    def _required(names, _):
        def check(value, pointer, found):
            if isinstance(value, dict):
                found += [f"{pointer}/{name}: is missing" for name in names if name not in value]
        return check

    @staticmethod
    def _dependentrequired(needed, _):
        def check(value, pointer, found):
            if isinstance(value, dict):
                found += [f"{pointer}/{other}: is missing beside {name}"
                          for name, others in needed.items() if name in value
                          for other in others if other not in value]
        return check

    def _propertynames(self, names, _):
        def check(value, pointer, found):
            if isinstance(value, dict):
                for name in value:
                    found += self.faults(names, name, f"{pointer}/{name}")
        return check

    def _others(self, known, others):
        def check(value, pointer, found):
            if isinstance(value, dict):
                for name in value.keys() - known:
                    if others is False:
                        found.append(f"{pointer}/{name}: is not described")
                    elif others is not True:
                        found += self.faults(others, value[name], f"{pointer}/{name}")
        return check

    def _additionalproperties(self, others, schema):
        return self._others(set(schema.get("properties", {})), others)

    def _unevaluatedproperties(self, others, schema):
        return self._others(set(self.properties(schema)), others)

    def _allof(self, parts, _):
        def check(value, pointer, found):
            for part in parts:
                found += self.faults(part, value, pointer)
        return check

    def _oneof(self, parts, _):
        def check(value, pointer, found):
            faults = [self.faults(part, value, pointer) for part in parts]
            good = sum(not each for each in faults)
            if good != 1:
                found.append(f"{pointer}: {value!r:.80} matches {good} of {len(parts)} schemas: "
                             f"{sum(faults, [])[:5]}")
        return check

    def _not(self, part, _):
        def check(value, pointer, found):
            if not self.faults(part, value, pointer):
                found.append(f"{pointer}: {value!r:.80} matches a schema that it must not match")
        return check
