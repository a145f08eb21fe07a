"""Values to try a schema with: on both sides of each bound, and of each type.

The schema decides whether a value is valid, and celld has to agree.
"""

import re

OF_EVERY_TYPE = [None, True, False, 0, 1, -1, 1.5, "", "a", [], [1], {}, {"a": 1}]
INTEGERS = [0, -1, 2**31, 2**32 + 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -2**63, 10**30]
TIMES = ["2036-11-20T22:42:56.123Z", "2036-11-20T22:42:56Z", "2036-11-20T22:42:56.1+00:00",
         "2036-02-29T23:59:59.123456789Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z",
         "1969-12-31T23:59:59Z", "2036-11-20", "2036-11-20T22:42:56", "2036-11-20 22:42:56Z",
         "2036-11-20t22:42:56z", "2036-11-20T22:42:56+01:00", "2036-11-20T22:42:56-00:00",
         "2036-11-20T24:00:00Z", "2036-11-20T22:60:00Z", "2036-11-20T22:42:60Z",
         "2036-02-30T00:00:00Z", "2035-02-29T00:00:00Z", "2036-13-01T00:00:00Z",
         "2036-00-01T00:00:00Z", "2036-01-00T00:00:00Z", "2036-11-20T22:42:56.Z",
         "2036-11-20T22:42:56.1234567890Z", "2036-11-20T22:42:56Z ", "2036-11-20T22:42:56Z\n",
         "12036-11-20T22:42:56Z", "2036-1-20T22:42:56Z", "\u0662036-11-20T22:42:56Z", "tomorrow"]
CHARACTERS = [chr(code) for code in range(1, 128)] + ["é", "\u0663", "\U0001f4a9"]
LENGTH_MAX = 300  # Above every bound of a length.


def text_candidates(schemas, schema, characters=CHARACTERS):
    """Every character, at the start and between others; and the lengths on both sides of each
    bound."""
    if schema.get("format") == "date-time":
        return list(TIMES)
    values = list(schema.get("enum", [])) + schema.get("examples", [])
    values += [f"{character}a" for character in characters]
    values += [f"a{character}a" for character in characters]
    good = [not schemas.faults(schema, "a" * length) for length in range(LENGTH_MAX)]
    for length in range(1, LENGTH_MAX):
        if good[length] != good[length - 1]:
            values += ["a" * (length - 1), "a" * length]
    return values


class Candidates:
    """Values for a request body. `names` are configured names, the only ones valid in a list."""

    def __init__(self, schemas, names):
        self.schemas = schemas
        self.names = names

    def of(self, schema, base=None):
        """`base` is a valid value; objects are made from it by changing one member."""
        schema = self.schemas.resolve(schema)
        parts = [self.schemas.resolve(part) for part in schema.get("allOf", [])]
        merged = {name: value for part in [*parts, schema] for name, value in part.items()}
        made = list(OF_EVERY_TYPE) + merged.get("enum", [])
        kind = merged.get("type")
        if kind == "integer":
            made += INTEGERS + [merged[bound] + by for bound in ("minimum", "maximum")
                                if bound in merged for by in (-1, 0, 1)]
        elif kind == "string":
            made += text_candidates(self.schemas, merged)
        elif kind == "array":
            made += self._arrays(merged)
        elif kind == "object" and "properties" in merged:
            made += self._changes(merged, base or {})
        elif kind == "object":
            made += self._maps(merged)
        return made

    def _arrays(self, schema):
        sizes = {schema["minItems"], schema["maxItems"]}
        made = [self.names[:size + by] for size in sizes for by in (-1, 0, 1) if size + by >= 0]
        items = self.schemas.resolve(schema["items"])
        made += [[self.names[0], each] for each in self.of(items)
                 if self.schemas.faults(items, each)]
        return made + [[self.names[0], self.names[1], self.names[0]]]

    def _maps(self, schema):
        """Objects whose members may have any name."""
        size = schema.get("maxProperties")
        made = [{f"k{i}": "" for i in range(size + by)} for by in (-1, 0, 1)] if size else []
        names = schema.get("propertyNames")
        if names:
            made += [{name: "v"} for name in text_candidates(self.schemas, names)
                     if not re.search("[~/]", name)]
        if isinstance(schema.get("additionalProperties"), dict):
            made += [{"k": each} for each in self.of(schema["additionalProperties"])]
        return made

    def _changes(self, schema, base):
        made = [base, {**base, "no_such_member": 1}]
        made += [{name: value for name, value in base.items() if name != left_out}
                 for left_out in base]
        for name, part in schema["properties"].items():
            made += [{**base, name: each} for each in self.of(part, base.get(name))]
        return made
