"""Says what a campaign did, and what it found."""

from collections import Counter

from campaign import Campaign, Finding
from graph import to_yaml

LONGEST = 1200  # characters of a message


def print_report(campaign: Campaign, most_reduced: int, tries: int) -> int:
    """The program's exit status. Of each kind of finding a few are reduced, with so many tries."""
    reduced: Counter[tuple[str, str]] = Counter()
    for finding in campaign.findings:
        kind = finding.target, finding.kind
        print(f"\nFAILED graph {finding.graph} on {finding.target}: {finding.kind}: {finding.text[:LONGEST]}")
        print(f"(--seed {campaign.seed} --graph {finding.graph} --targets {finding.target} repeats it)")
        if sum(reduced.values()) < most_reduced and reduced[kind] < max(1, most_reduced // 2):
            reduced[kind] += 1
            print_reduced(campaign, finding, tries)
    print()
    for what, count in campaign.counts.items():
        print(f"{count:>12,} {what}")
    operators = Counter(op for graph in campaign.graphs.values() for op in graph.operators())
    print(f"{len(operators):>12,} of {len(campaign.operators)} operators")
    for (target, kind), count in sorted(Counter((each.target, each.kind) for each in campaign.findings).items()):
        print(f"{count:>12,} {kind} ({target})")
    return 1 if campaign.findings else 0


def print_reduced(campaign: Campaign, finding: Finding, tries: int) -> None:
    graph, text = campaign.reduce(finding, tries) if tries else (campaign.graphs[finding.graph], "")
    if text != finding.text:
        print(f"reduced, it says: {text[:LONGEST]}")
    print(to_yaml(graph), flush=True)
