# SPDX-License-Identifier: BSD-2-Clause
"""The description of the interface, by which true answers are judged: python3-jsonschema with JSON
Schema 2020-12, as OpenAPI 3.1 has it. Here an object has no member that its schema does not name.
"""
import json, re
import jsonschema
import webtest as w

METHODS = {"get", "post", "patch", "delete"}


class Description:
    def __init__(self, web):
        self.told = web.json("/api/v1/openapi.json")
        self.schemas = self.told["components"]["schemas"]
        for schema in self.schemas.values():
            jsonschema.Draft202012Validator.check_schema(schema)
            schema.setdefault("additionalProperties", False)
        w.check(self.told["openapi"].startswith("3.1."), f"OpenAPI {self.told['openapi']}, "
                f"{len(self.schemas)} schemas are JSON Schema")
        self.whole()

    def whole(self):
        """Its form: references lead somewhere, parameters of paths are told, all JSON has a
        schema."""
        text = json.dumps(self.told)
        names = re.findall(r'"\$ref": "#/components/schemas/(\w+)"', text)
        w.check(names and set(names) == set(self.schemas) and text.count('"$ref"') == len(names),
                f"{len(names)} references lead to all schemas")
        faults = []
        for path, methods in self.told["paths"].items():
            for method, operation in methods.items():
                places = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
                bodies = [operation["responses"], {"body": operation.get("requestBody", {})}]
                bare = [kind for some in bodies for one in some.values()
                        for kind, body in one.get("content", {}).items()
                        if kind == "application/json" and "schema" not in body]
                if (method not in METHODS or places != set(re.findall(r"{(\w+)}", path))
                        or not {"summary", "responses"} <= set(operation)
                        or bare and path != "/api/v1/openapi.json"):
                    faults.append((path, method))
        w.check(not faults, f"{len(self.told['paths'])} paths have what OpenAPI asks: {faults}")

    def fault(self, name, body):
        """Empty, or how the body differs from the schema."""
        schema = {"$ref": f"#/components/schemas/{name}", "components": self.told["components"]}
        errors = sorted(jsonschema.Draft202012Validator(schema).iter_errors(body), key=str)
        return "; ".join(f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in errors)

    def check(self, name, body, what):
        fault = self.fault(name, body)
        w.check(not fault, f"{what} is as {name} says {fault[:300]}")

    def check_answer(self, method, pattern, status, headers, body, what):
        """By the operation's own answer, or by its failure."""
        answers = self.told["paths"][pattern][method.lower()]["responses"]
        answer = answers.get(str(status), answers["default"])
        schema = answer["content"][headers["Content-Type"]]["schema"]["$ref"].split("/")[-1]
        self.check(schema, json.loads(body), f"{what}: {status}")
