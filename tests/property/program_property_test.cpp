#include <string>

#include <rapidcheck.h>

#include "program/word.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using program::Operation;
using program::OpKind;
using program::Program;
using program::Word;

namespace {

struct Spelled {
  Program program;
  std::string text;  // the letters in the order in which they execute
};

// Appends random letters and loops; returns what they spell.
std::string grow(Program& program, int depth) {
  std::string text;
  const int items = *rc::gen::inRange(1, 5);
  for (int i = 0; i < items; ++i) {
    Operation op;
    if (depth < 3 && *rc::gen::inRange(0, 3) == 0) {
      const std::size_t own = program.operations.size();
      op.kind = OpKind::kRepeat;
      op.bytes = *rc::gen::inRange(1, 5);
      program.operations.push_back(op);
      const std::string body = grow(program, depth + 1);
      program.operations[own].target = static_cast<std::uint32_t>(program.operations.size() - own - 1);
      for (std::int64_t round = 0; round < op.bytes; ++round) {
        text += body;
      }
    } else {
      op.bytes = *rc::gen::inRange('a', 'd');  // 'a' is not of the word, below
      program.operations.push_back(op);
      text += static_cast<char>(op.bytes);
    }
  }
  return text;
}

Spelled random_program() {
  Spelled spelled;
  spelled.text = grow(spelled.program, 0);
  std::erase(spelled.text, 'a');
  return spelled;
}

Word word_of(const Program& program) {
  return Word(program, [&](std::uint32_t i) -> std::optional<std::uint64_t> {
    const std::int64_t letter = program.operations[i].bytes;
    return letter != 'a' ? std::optional<std::uint64_t>(letter) : std::nullopt;
  });
}

Program flat(const std::string& text) {
  Program program;
  for (const char letter : text) {
    Operation op;
    op.bytes = letter;
    program.operations.push_back(op);
  }
  return program;
}

}  // namespace

TEST_CASE("a word with loops is the word that its execution spells") {
  CHECK(rc::check([] {
    const Spelled spelled = random_program();
    const Word word = word_of(spelled.program);
    RC_ASSERT(word.digest() == word_of(flat(spelled.text)).digest());
    RC_ASSERT(word.length() == spelled.text.size());
    for (std::size_t i = 0; i < spelled.text.size(); ++i) {
      RC_ASSERT(spelled.program.operations[word.operation_at(i)].bytes == spelled.text[i]);
    }
  }));
}

TEST_CASE("the first difference of two words is that of what they spell") {
  CHECK(rc::check([] {
    const Spelled a = random_program();
    const Spelled b = random_program();
    std::size_t expected = 0;
    while (expected < a.text.size() && expected < b.text.size() && a.text[expected] == b.text[expected]) {
      ++expected;
    }
    RC_ASSERT(program::first_difference(word_of(a.program), word_of(b.program)) == expected);
  }));
}

TEST_CASE("execution counts add up to the length of the execution") {
  CHECK(rc::check([] {
    Program program;
    const std::string text = grow(program, 0);
    const std::vector<std::uint64_t> counts = program::execution_counts(program);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      total += program.operations[i].kind == OpKind::kRepeat ? 0 : counts[i];
    }
    RC_ASSERT(total == text.size());
  }));
}

TEST_CASE("a group is its list of ranks, however it was made") {
  CHECK(rc::check([] {
    const auto first = *rc::gen::inRange(0U, 10U);
    std::vector<program::Group::Stride> strides;
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
      strides.push_back({*rc::gen::inRange(1U, 9U), *rc::gen::inRange(1U, 5U)});
    }
    // By the definition: the innermost stride runs fastest.
    std::vector<std::uint32_t> expected{first};
    for (const program::Group::Stride& stride : strides) {
      const std::vector<std::uint32_t> block = expected;
      for (std::uint32_t k = 1; k < stride.count; ++k) {
        for (const std::uint32_t rank : block) {
          expected.push_back(rank + k * stride.step);
        }
      }
    }
    const program::Group group = program::Group::strided(first, strides);
    RC_ASSERT(group.size() == expected.size());
    for (std::uint32_t i = 0; i < group.size(); ++i) {
      RC_ASSERT(group.rank(i) == RankId{expected[i]});
      RC_ASSERT(group.ranks()[i] == RankId{expected[i]});
      RC_ASSERT(program::Group::listed(expected).rank(i) == RankId{expected[i]});
    }
  }));
}
