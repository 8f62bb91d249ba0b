// SPDX-License-Identifier: Apache-2.0
// usage: node test/document/make.js FIXTURE [--repeat N] > document.json
// --repeat lengthens the first file N times over, for measuring with large sources.
import { basename } from "node:path";

import { documentFromInventory } from "./from_inventory.js";
import { repeated } from "./repeated.js";

const [folder, option, count] = process.argv.slice(2);
const document = documentFromInventory(folder, basename(folder));
process.stdout.write(JSON.stringify(option === "--repeat" ? repeated(document, Number(count)) : document));
