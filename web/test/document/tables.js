// SPDX-License-Identifier: Apache-2.0
// Words for documents made from inventories.

export const GLOSSARY = [
  ["straight", "Straight code", "control", "None of the other kinds."],
  ["guard", "Guard", "control", "A condition decides whether what follows happens."],
  ["loop", "Loop", "control", "Repeats over tokens, peers, blocks or bytes."],
  ["scan", "Scan", "control", "A loop over tokens or routes that searches or counts."],
  ["prefix_sum", "Prefix sum", "control", "Turns counts into first positions."],
  ["reserve", "Reserve", "control", "An atomic add claims slots that no other block gets."],
  ["work_request", "Work request", "control", "Writes what a device reads from its queue."],
  ["doorbell", "Doorbell", "control", "A store that tells a device to read its queue up to a position."],
  ["flag_write", "Flag write", "sync", "Publishes that something earlier is complete."],
  ["flag_poll", "Flag poll", "sync", "Reads a flag until it has the awaited value."],
  ["fence", "Fence", "sync", "Earlier stores are visible before later ones."],
  ["barrier", "Barrier", "sync", "Nobody goes on before all have come."],
  ["copy", "Copy", "data", "Moves bytes between spaces."],
  ["launch", "Launch", "control", "Starts a kernel."],
  ["allocate", "Allocate", "data", "Gets memory."],
  ["register", "Register", "data", "Makes memory known to a device or a peer."],
  ["reduce", "Reduce", "data", "Sums rows."],
  ["call", "Call", "control", "Hands over to another function."],
  ["exit", "Exit", "control", "Leaves: return, throw, trap."],
].map(([kind, title, plane, meaning]) => ({ kind, title: title.toLowerCase(), plane, meaning }));

export const RULES = [
  ["unreachable/never-referenced", "Never referenced"], ["unreachable/only-from-unreachable", "Called only by unreachable functions"],
  ["unreachable/only-in-comments", "Called only in comments"], ["unreachable/compiled-out", "Compiled out"],
  ["placeholder/empty", "Empty body"], ["placeholder/constant", "Returns a constant"],
  ["placeholder/not-implemented", "Not implemented"], ["placeholder/arguments-voided", "Arguments voided"],
  ["placeholder/later", "Work announced for later"], ["layout-missing", "Layout missing"],
  ["parameter-never-read", "Parameter never read"], ["size-without-consumer", "Size without consumer"],
  ["budget-without-writer", "Budget without writer"], ["version-family", "Versions side by side"],
  ["commented-out/call", "Call in a comment"], ["commented-out/barrier", "Barrier in a comment"],
  ["publisher-without-waiter", "Published, never awaited"], ["waiter-without-publisher", "Awaited, never published"],
  ["store-without-release", "Store without release"],
].map(([id, title]) => ({ id, title, meaning: title, severity: /placeholder|barrier|without/.test(id) ? "suspect" : "hint" }));

/** Stages by names: the first pattern that fits takes the function. */
export const STAGES = [
  ["Entry and set-up", /mesh_dispatch$|::Init\w*$|ReadTiling|SplitBlocks|::Process$|dispatch_kernel|launch_|Runtime|_C$|echelon\./],
  ["Addresses", /Address$|RowsEnd|AlignUp|CeilDiv|RowBytes|flag_of|offset$/],
  ["Scan and reserve", /Count\w*Routes|RunScan|Reserve\w*|PlaceRoutes|PublishCounts|PublishEpoch|OwnerOf|IsRouted|SlotCounter/],
  ["Pack and post", /RunPack|Pack\w*|WaitPlaces|PostRow|MarkDone|WriteRequest|RequestAt|RequestControl|Vf$|ModeOf|send_rows|put_row|NullTransport/],
  ["Shared expert", /Shared/],
  ["Submit", /RunSubmit|RingDoorbell$|HasCredit|DrainQueue|PostArrival|DonePrefix|PollCompletions|CompletionIsOurs|ReservedRequests|WaitCredit|announce/],
  ["Poll", /RunPoll|WaitCounts|WaitArrival|wait_rows/],
  ["Reorder", /Reorder|SumCounts|LocateRow|MoveRow|WriteCountsOut|combine/],
  ["Flags and copies", /Flag$|Fence$|SpinOnce|CopyRow|store_release|load_acquire/],
];
