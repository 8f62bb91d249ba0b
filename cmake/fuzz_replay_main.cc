// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target without libFuzzer, so that every build keeps it alive: each file of the
// folders named on the command line, the files cut short, and seeded random inputs. The seed is
// printed and can be given as --seed=N.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count);

namespace {

constexpr int kRandomInputs = 2000;
constexpr std::size_t kRandomBytesMax = 512;

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void run_corpus(const std::filesystem::path& folder, std::vector<std::vector<std::uint8_t>>* seen) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto bytes = read_file(entry.path());
    for (std::size_t length = bytes.size();; length /= 2) {
      LLVMFuzzerTestOneInput(bytes.data(), length);
      if (length == 0) {
        break;
      }
    }
    seen->push_back(bytes);
  }
}

// Half of the inputs are noise; the others are a corpus file with a few bytes changed.
std::vector<std::uint8_t> make_input(std::mt19937_64* random,
                                     const std::vector<std::vector<std::uint8_t>>& corpus) {
  std::vector<std::uint8_t> bytes;
  if (!corpus.empty() && (*random)() % 2 == 0) {
    bytes = corpus[(*random)() % corpus.size()];
    for (int change = 0; change < 4 && !bytes.empty(); ++change) {
      bytes[(*random)() % bytes.size()] = static_cast<std::uint8_t>((*random)());
    }
    return bytes;
  }
  bytes.resize((*random)() % kRandomBytesMax);
  for (auto& byte : bytes) {
    byte = static_cast<std::uint8_t>((*random)());
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = std::random_device{}();
  std::vector<std::vector<std::uint8_t>> corpus;
  for (int at = 1; at < argc; ++at) {
    constexpr std::string_view kSeed = "--seed=";
    const std::string_view argument = argv[at];
    if (argument.starts_with(kSeed)) {
      seed = std::stoull(std::string(argument.substr(kSeed.size())));
    } else {
      run_corpus(argument, &corpus);
    }
  }
  std::cout << "repeat with: " << argv[0] << " --seed=" << seed << '\n' << std::flush;
  std::mt19937_64 random(seed);
  for (int input = 0; input < kRandomInputs; ++input) {
    const auto bytes = make_input(&random, corpus);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::cout << corpus.size() << " corpus files and " << kRandomInputs << " random inputs done\n";
  return EXIT_SUCCESS;
}
