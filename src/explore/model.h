// SPDX-License-Identifier: Apache-2.0
// What the explorer knows about a source tree: the document of docs/explorer-schema.md as plain
// data. References are indexes into the vectors of Project; -1 is "none". Ranges and lines are
// those of SourceText. Thread rule: plain values; one thread fills a Project.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/parse/found.h"
#include "explore/source/lexer.h"
#include "explore/source/mask.h"
#include "explore/source/preprocessor.h"
#include "explore/source/rules.h"
#include "explore/source/text.h"

namespace crossdock::explore {

inline constexpr int kNone = -1;

struct Warning {
  std::string kind;
  std::string path;
  int line = 0;  // 0: of the whole file
  std::string text;
};

enum class Language : std::uint8_t { kC, kCpp, kCuda, kAscendC, kPython, kText };

struct LineStage {
  LineRange lines;
  int stage = kNone;
};

/// Tokens view the text, so a SourceFile stays where it was made.
struct SourceFile {
  std::string path;      // relative to the common folder
  std::string absolute;  // on this machine
  std::string module;    // of Python: "package.module"
  Language language = Language::kText;
  std::string sha256;
  std::uint64_t byte_count = 0;
  std::string_view encoding;
  bool is_shown = true;
  SourceText text;
  Tokens tokens;  // all
  Tokens code;    // without comments and directives
  Preprocessed directives;
  MaskedText masked;
  Inventory inventory;  // of the first analyser
  std::vector<LineStage> line_stages;
  std::vector<int> functions;  // by offset
  std::vector<int> owners;     // [code token]: the innermost function around it, or kNone

  [[nodiscard]] bool is_cpp() const {
    return language != Language::kPython && language != Language::kText;
  }
  [[nodiscard]] bool is_python() const { return language == Language::kPython; }
};

struct Parameter {
  std::string name;
  std::string type;
  std::optional<bool> read;
  bool has_default = false;
  bool is_pack = false;  // "..." or "*args"
};

struct Segment {
  LineRange lines;
  Mechanism mechanism = Mechanism::kStraight;
  std::vector<Mechanism> also;
  std::string head;
  int depth = 0;
  std::vector<std::string> reads;
  std::vector<std::string> writes;
  std::vector<int> edges;
  std::vector<int> external_calls;
  std::optional<std::pair<std::string, std::string>> spaces;
  std::string note_title;
  std::string note_text;
};

struct Place {
  int file = kNone;
  int line = 0;
};

enum class Reach : std::uint8_t { kUnreachable, kReachable, kRoot };

struct Function {
  std::string id;
  std::string name;
  std::string qualified;
  std::string signature;
  FunctionKind kind = FunctionKind::kFunction;
  std::string_view execution = "host";
  bool is_template = false;
  bool is_internal = false;  // seen by its own file only
  bool is_implicit = false;  // called without its name: destructor, operator, override
  int file = kNone;
  LineRange lines;
  int name_line = 0;
  LineRange signature_lines;
  LineRange body_lines;
  int parent = kNone;
  std::vector<Parameter> parameters;
  std::vector<std::string> conditions;
  bool compiled_out = false;
  std::uint64_t body_hash = 0;
  std::vector<std::string_view> found_by;
  std::vector<Place> declarations;
  Reach reach = Reach::kUnreachable;
  std::vector<int> roots;
  int roots_left_out = 0;
  std::vector<int> roles;
  int stage = kNone;
  std::vector<Segment> segments;
  std::string note;
  bool note_is_stale = false;

  FoundFunction found;          // what the analyser said
  std::size_t first_token = 0;  // of the body in SourceFile::code; [first, last)
  std::size_t last_token = 0;
};

enum class EdgeClass : std::uint8_t { kExact, kNameOnly, kAmbiguous, kTextual };
enum class EdgeKind : std::uint8_t { kControl, kData, kSync, kHandshake };
enum class EdgeForm : std::uint8_t {
  kCall,
  kTemplateCall,
  kMacroCall,
  kLaunch,
  kPointer,
  kTable,
  kBinding,
  kConstruct,
  kLambda,
  kSync,
};

struct Edge {
  int from = kNone;
  int to = kNone;
  EdgeClass edge_class = EdgeClass::kExact;
  EdgeKind kind = EdgeKind::kControl;
  EdgeForm form = EdgeForm::kCall;
  std::vector<Site> sites;
  std::vector<int> alternatives;
  std::vector<std::string> conditions;
  int sync = kNone;
  bool is_wrong = false;  // says an overlay
};

struct ExternalCall {
  int from = kNone;
  std::string name;
  std::vector<Site> sites;
  std::optional<Mechanism> mechanism;
  std::string reason = "not in the tree";
};

struct Binding {
  std::string name;
  std::string owner;  // class or module; may be empty
  std::string_view mechanism;
  int file = kNone;
  int line = 0;
  int function = kNone;
  EdgeClass edge_class = EdgeClass::kExact;
};

struct Root {
  int function = kNone;
  bool is_declared = false;
  std::string reason;
};

struct Path {
  int root = kNone;
  int target = kNone;
  std::vector<int> functions;
  std::vector<int> edges;
  std::string reason;
};

struct Role {
  std::string id;
  std::string name;
  int function = kNone;
  std::string condition;
  std::string axis;
  LineRange lines;
  std::vector<int> functions;
  int parent = kNone;
};

struct Fork {
  int function = kNone;
  int line = 0;
  int join_line = 0;
  std::string_view join = "none";
  std::vector<int> roles;
};

struct Stage {
  std::string id;
  std::string name;
  bool from_overlay = false;
  std::vector<int> functions;
  std::vector<int> own_roles;  // whose lines belong to it
  std::vector<int> roles;      // that execute it
  int line_count = 0;
  std::vector<Mechanism> mechanisms;
  std::string summary;
};

struct StageEdge {
  int from = kNone;
  int to = kNone;
  EdgeKind kind = EdgeKind::kControl;
  EdgeClass edge_class = EdgeClass::kExact;
  std::vector<int> edges;
};

struct Mark {
  std::string id;
  std::string_view rule;
  int function = kNone;
  int file = kNone;
  std::vector<LineRange> lines;
  std::string text;
  std::vector<int> related;
  std::string verdict;
  std::string note;
};

struct SyncPoint {
  int function = kNone;
  int file = kNone;
  int line = 0;
  std::string text;
  int segment = kNone;
};

struct SyncPair {
  std::string id;
  std::string_view kind;  // "flag", "signal", "barrier", "event", "counter"
  std::string key;
  std::vector<SyncPoint> publishers;
  std::vector<SyncPoint> waiters;
  EdgeClass edge_class = EdgeClass::kNameOnly;
};

struct Evidence {
  int file = kNone;
  int line = 0;
  std::string text;
};
struct KernelArgument {
  int function = kNone;
  std::string parameter;
  int file = kNone;
  int line = 0;
};

struct Region {
  std::string id;
  std::string name;
  std::string space = "unknown";
  int function = kNone;
  int file = kNone;
  int line = 0;
  std::string requested;
  std::string reserved;
  std::string written;
  std::string_view lifetime = "unknown";
  std::vector<Evidence> registered;
  std::vector<KernelArgument> kernel_arguments;
  std::string allocator;
  EdgeClass edge_class = EdgeClass::kNameOnly;
};

struct TransferEnd {
  std::string text;
  std::string space = "unknown";
  int region = kNone;
};

struct Transfer {
  int function = kNone;
  int file = kNone;
  int line = 0;
  TransferEnd source;
  TransferEnd target;
  std::string length;
  std::string engine;
  int sync = kNone;
  int segment = kNone;
};

struct Disagreement {
  int file = kNone;
  int line = 0;
  std::string name;
  std::vector<std::string_view> found_by;
  std::vector<std::string_view> missing_in;
  std::string reason;
};

struct Analyser {
  std::string name;
  bool used = false;
  std::string version;
  std::string reason;
};

struct Provenance {
  std::string name;
  std::vector<std::string> paths;
  std::string command;
  std::string commit;  // empty outside a repository
  std::optional<bool> dirty;
  std::string sha256;
};

struct UnmatchedNote {
  std::string section;
  std::string id;
  std::string reason;
};
struct OverlayResult {
  std::string path;
  std::string sha256;
  int applied = 0;
  std::vector<UnmatchedNote> unmatched;
};

struct Project {
  Provenance provenance;
  std::vector<Analyser> analysers;
  std::vector<std::unique_ptr<SourceFile>> files;
  std::vector<Function> functions;
  std::vector<Edge> edges;
  std::vector<ExternalCall> external_calls;
  std::vector<Binding> bindings;
  std::vector<Root> roots;
  std::vector<Path> paths;
  std::vector<Role> roles;
  std::vector<Fork> forks;
  std::vector<Stage> stages;
  std::vector<StageEdge> stage_edges;
  std::vector<Mark> marks;
  std::vector<SyncPair> sync;
  std::vector<Region> regions;
  std::vector<Transfer> transfers;
  std::vector<Disagreement> disagreements;
  std::optional<OverlayResult> overlay;
  std::vector<Warning> warnings;
  int files_skipped = 0;

  [[nodiscard]] Function& function(int index) {
    return functions.at(static_cast<std::size_t>(index));
  }
  [[nodiscard]] const Function& function(int index) const {
    return functions.at(static_cast<std::size_t>(index));
  }
  [[nodiscard]] const SourceFile& file(int index) const {
    return *files.at(static_cast<std::size_t>(index));
  }
  [[nodiscard]] const SourceFile& file_of(const Function& function) const {
    return file(function.file);
  }
  /// The innermost function around an offset, or kNone.
  [[nodiscard]] int function_at(int file, std::size_t offset) const;
};

[[nodiscard]] std::string_view to_string(Language language);
[[nodiscard]] std::string_view to_string(FunctionKind kind);
[[nodiscard]] std::string_view to_string(Reach reach);
[[nodiscard]] std::string_view to_string(EdgeClass edge_class);
[[nodiscard]] std::string_view to_string(EdgeKind kind);
[[nodiscard]] std::string_view to_string(EdgeForm form);

}  // namespace crossdock::explore
