#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The manifests of packaging/kubernetes against Kubernetes' own OpenAPI schema, as Debian's package
python3-kubernetes has it: fields, types, what is required. And that they fit together: selectors,
volumes, ports, the files and programs that they name. Exit code 77: no such package.

  kubernetes_schema.py --source DIR
"""
import argparse, json, pathlib, re, sys

sys.path.append("/usr/lib/python3/dist-packages") # Debian's, also beside another Python
try:
    import kubernetes.client as k8s
    import yaml
except ImportError as missing:
    print(f"skipped: {missing} (Debian's package python3-kubernetes)")
    sys.exit(77)

FAILURES = []
PLAIN = {"str": str, "bool": bool, "int": int, "object": object}


def check(good, what):
    if not good:
        FAILURES.append(what)
    print(("ok   " if good else "FAIL ") + what, flush=True)


def faults(value, kind, path):
    """Of a value against the name of a type in the schema."""
    listed, mapped = re.fullmatch(r"list\[(.*)\]", kind), re.fullmatch(r"dict\(str, (.*)\)", kind)
    if listed or mapped:
        if not isinstance(value, list if listed else dict):
            return [f"{path}: no {'list' if listed else 'mapping'}"]
        items = enumerate(value) if listed else value.items()
        return [f for i, v in items for f in faults(v, (listed or mapped)[1], f"{path}.{i}")]
    if kind in PLAIN:
        whole = PLAIN[kind] is not int or not isinstance(value, bool)
        return [] if isinstance(value, PLAIN[kind]) and whole else [f"{path}: no {kind}: {value!r}"]
    model = getattr(k8s, kind, None)
    if model is None:
        return []
    if not isinstance(value, dict):
        return [f"{path}: no mapping"]
    known = {json_name: name for name, json_name in model.attribute_map.items()}
    out = [f"{path}.{key}: no field of {kind}" for key in value if key not in known]
    for key in set(value) & set(known):
        out += faults(value[key], model.openapi_types[known[key]], f"{path}.{key}")
    try: # its constructor refuses what lacks a required field
        model(**{known[key]: v for key, v in value.items() if key in known})
    except ValueError as e:
        out.append(f"{path}: {e}")
    return out


def model_of(document):
    group, _, version = document["apiVersion"].rpartition("/")
    return "V1" + document["kind"] if (group, version) in (("", "v1"), ("apps", "v1")) else None


def schema(documents):
    for d in documents:
        have = faults(d, model_of(d), d["kind"]) if model_of(d) else ["no schema"]
        check(not have, f"{d['kind']} {d['metadata']['name']}: {have}")
    daemon = json.loads(json.dumps(next(d for d in documents if d["kind"] == "DaemonSet")))
    container = daemon["spec"]["template"]["spec"]["containers"][0]
    container["imagePolicy"] = "Always"
    container["args"] = "peltond"
    del daemon["spec"]["selector"]
    wrong = faults(daemon, "V1DaemonSet", "DaemonSet")
    check(len(wrong) == 3, f"the check sees an unknown field, a wrong type, a lack: {len(wrong)}")


def fits(documents, root):
    """Names that stand in two places."""
    by = {d["kind"]: d for d in documents}
    spec = by["DaemonSet"]["spec"]
    pod = spec["template"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    check(spec["selector"]["matchLabels"].items() <= labels.items()
          and by["Service"]["spec"]["selector"].items() <= labels.items(), "selectors fit the pods")
    volumes = {v["name"] for v in pod["volumes"]}
    used = {m["name"] for c in pod["containers"] for m in c["volumeMounts"]}
    check(volumes == used, f"each volume is used, and each use has one {volumes ^ used}")
    ports = {p["name"] for c in pod["containers"] for p in c.get("ports", [])}
    probes = [c[p]["httpGet"]["port"] for c in pod["containers"]
              for p in ("livenessProbe", "readinessProbe") if "httpGet" in c.get(p, {})]
    check({p["targetPort"] for p in by["Service"]["spec"]["ports"]} | set(probes) <= ports,
          f"ports {ports}")
    config = by["ConfigMap"]["data"]
    named = [w for c in pod["containers"] for w in c["args"] if w.startswith("/etc/pelton/")]
    check({pathlib.Path(n).name for n in named} == set(config), f"configurations {named}")
    check(yaml.safe_load(config["web.yaml"])["listen"].endswith(":8790"), "the port is the same")
    for c in pod["containers"]:
        s = c["securityContext"]
        check(s["readOnlyRootFilesystem"] and not s["allowPrivilegeEscalation"]
              and s["capabilities"]["drop"] == ["ALL"], f"{c['name']} has no rights")
    routes = (root / "web/http_routes.c").read_text()
    paths = [c[p]["httpGet"]["path"] for c in pod["containers"]
             for p in ("livenessProbe", "readinessProbe") if "httpGet" in c.get(p, {})]
    paths += [spec["template"]["metadata"]["annotations"]["prometheus.io/path"]]
    check(all(f'"{p}"' in routes for p in paths), f"pelton-web serves {paths}")


def monitor(root, documents):
    """The operator's schema is no part of Kubernetes; its fields are those of its API reference."""
    d = yaml.safe_load((root / "packaging/kubernetes/servicemonitor.yaml").read_text())
    service = next(d for d in documents if d["kind"] == "Service")
    end = d["spec"]["endpoints"][0]
    check(d["kind"] == "ServiceMonitor" and d["spec"]["selector"]["matchLabels"].items()
          <= service["metadata"]["labels"].items(), "ServiceMonitor finds the Service")
    check(end["port"] in {p["name"] for p in service["spec"]["ports"]}
          and set(end) <= {"port", "scheme", "path", "interval", "authorization", "tlsConfig"}
          and end["scheme"] == "https", f"ServiceMonitor: {sorted(end)}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--source", required=True)
    root = pathlib.Path(p.parse_args().source)
    documents = list(yaml.safe_load_all((root / "packaging/kubernetes/pelton.yaml").read_text()))
    schema(documents)
    fits(documents, root)
    monitor(root, documents)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
