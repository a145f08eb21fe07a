// lint.mjs FILE: prints the problems that a third-party linter finds in an OpenAPI document, and
// fails if there are any.
import { createConfig, lint } from "@redocly/openapi-core";

const config = await createConfig({
  extends: ["recommended-strict"],
  rules: {
    "info-license": "off", // celld's licence is not part of its API.
    "no-invalid-media-type-examples": "error",
    "no-invalid-parameter-examples": "error",
    "no-invalid-schema-examples": "error",
    "parameter-description": "error",
    "tag-description": "error",
    "operation-operationId-url-safe": "error",
    "no-ambiguous-paths": "error",
    "no-duplicated-tag-names": "error",
    "spec-strict-refs": "error",
  },
});
const problems = await lint({ ref: process.argv[2], config });
for (const { severity, ruleId, message, location } of problems) {
  console.log(`${severity} ${ruleId} at ${location[0]?.pointer}: ${message}`);
}
process.exitCode = problems.length > 0 ? 1 : 0;
