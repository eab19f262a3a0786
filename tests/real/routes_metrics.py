"""Reads the numbers of a server as the client library of Prometheus does, and prints them as JSON."""

import json
import sys
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

with urllib.request.urlopen(sys.argv[1], timeout=10) as answer:
    text = answer.read().decode("utf-8")
families = {}
for family in text_string_to_metric_families(text):
    families[family.name] = {
        "type": family.type,
        "samples": [[sample.name, sample.labels, sample.value] for sample in family.samples],
    }
print(json.dumps(families))
