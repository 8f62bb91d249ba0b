// SPDX-License-Identifier: Apache-2.0
import { mount } from "svelte";

import App from "./App.svelte";
import Failure from "./Failure.svelte";
import { NoDocument, parseDocument } from "./model/document.js";
import "./theme.css";

const target = document.getElementById("app");
try {
  const explored = parseDocument(document.getElementById("explore-data").textContent);
  document.title = `${explored.provenance.name} - crossdock explore`;
  mount(App, { target, props: { explored } });
} catch (error) {
  if (!(error instanceof NoDocument)) throw error;
  mount(Failure, { target, props: { message: error.message } });
}
