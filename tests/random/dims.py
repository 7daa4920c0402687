"""Sizes that may depend on symbols: polynomials with integer coefficients, as kgen's dims are."""

from collections.abc import Mapping


class Dim:
    """Immutable. Equal sizes compare equal; `text` is how a graph writes it."""

    def __init__(self, terms: Mapping[tuple[str, ...], int]):
        self.terms = {factors: count for factors, count in sorted(terms.items()) if count}

    @staticmethod
    def symbol(name: str) -> "Dim":
        return Dim({(name,): 1})

    @staticmethod
    def of(value: "Dim | int") -> "Dim":
        return value if isinstance(value, Dim) else Dim({(): value})

    @property
    def constant(self) -> int | None:
        """The number that it is, None where it depends on symbols."""
        if not self.terms:
            return 0
        return self.terms[()] if list(self.terms) == [()] else None

    @property
    def symbols(self) -> set[str]:
        return {name for factors in self.terms for name in factors}

    def __add__(self, other: "Dim | int") -> "Dim":
        sum_of_terms = dict(self.terms)
        for factors, count in Dim.of(other).terms.items():
            sum_of_terms[factors] = sum_of_terms.get(factors, 0) + count
        return Dim(sum_of_terms)

    def __mul__(self, other: "Dim | int") -> "Dim":
        product: dict[tuple[str, ...], int] = {}
        for left, left_count in self.terms.items():
            for right, right_count in Dim.of(other).terms.items():
                factors = tuple(sorted(left + right))
                product[factors] = product.get(factors, 0) + left_count * right_count
        return Dim(product)

    def __sub__(self, other: "Dim | int") -> "Dim":
        return self + Dim.of(other) * -1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim | int) and self.terms == Dim.of(other).terms

    def __hash__(self) -> int:
        return hash(tuple(self.terms.items()))

    def slope(self, name: str) -> int:
        """How many times the symbol is added, where it stands in no product with others; else 0."""
        within = [factors for factors in self.terms if name in factors]
        return self.terms[(name,)] if within == [(name,)] else 0

    def at(self, sizes: Mapping[str, int]) -> int:
        total = 0
        for factors, count in self.terms.items():
            for name in factors:
                count *= sizes[name]
            total += count
        return total

    def substitute(self, sizes: Mapping[str, int]) -> "Dim":
        """With these symbols replaced by numbers."""
        total = Dim({})
        for factors, count in self.terms.items():
            term = Dim.of(count)
            for name in factors:
                term = term * (sizes[name] if name in sizes else Dim.symbol(name))
            total = total + term
        return total

    @property
    def text(self) -> str:
        parts = []
        for factors, count in sorted(self.terms.items(), key=lambda item: (-len(item[0]), item[0])):
            product = "*".join(factors)
            written = product if count == 1 and factors else "*".join(filter(None, [str(abs(count)), product]))
            if count == -1 and factors:
                written = product
            parts.append(("- " if count < 0 else "+ ") + written)
        if not parts:
            return "0"
        text = " ".join(parts)
        return text[2:] if text.startswith("+ ") else "-" + text[2:]

    __repr__ = text.fget  # type: ignore[attr-defined]


Shape = tuple[Dim, ...]


def shape_of(extents) -> Shape:
    return tuple(Dim.of(extent) for extent in extents)


def count_of(shape: Shape) -> Dim:
    count = Dim.of(1)
    for extent in shape:
        count = count * extent
    return count
