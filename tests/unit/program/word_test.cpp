#include "program/word.hpp"

#include "support/catch.hpp"

using namespace stepcast;
using program::Operation;
using program::OpKind;
using program::Program;
using program::Word;

namespace {

// A program from a text: a letter is an operation whose symbol is the letter, "(n ... )" a loop with a
// count of one digit, "[n ... ]" one with a count of 2^n.
Program program_of(std::string_view text) {
  Program program;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    Operation operation;
    switch (text[i]) {
      case '(':
      case '[':
        operation.kind = OpKind::kRepeat;
        operation.bytes = text[i] == '(' ? text[i + 1] - '0' : std::int64_t{1} << (text[i + 1] - '0') * 3;
        ++i;
        open.push_back(program.operations.size());
        program.operations.push_back(operation);
        break;
      case ')':
      case ']':
        program.operations[open.back()].target =
            static_cast<std::uint32_t>(program.operations.size() - open.back() - 1);
        open.pop_back();
        break;
      default:
        operation.bytes = text[i];
        program.operations.push_back(operation);
        break;
    }
  }
  return program;
}

// The word of all capital letters.
Word word_of(const Program& program) {
  return Word(program, [&](std::uint32_t i) -> std::optional<std::uint64_t> {
    const std::int64_t letter = program.operations[i].bytes;
    return letter >= 'A' && letter <= 'Z' ? std::optional<std::uint64_t>(letter) : std::nullopt;
  });
}

Word word_of(std::string_view text) {
  return word_of(program_of(text));
}

}  // namespace

TEST_CASE("words written with different loops are equal when they spell the same") {
  CHECK(word_of("(4A)").digest() == word_of("AA(2A)").digest());
  CHECK(word_of("(2AB)A").digest() == word_of("A(2BA)").digest());
  CHECK(word_of("(2A(3B))").digest() == word_of("ABBBABBB").digest());
  CHECK(word_of("AxBy").digest() == word_of("zAB").digest());  // lower case is not of the word
  CHECK(word_of("(9x)").digest() == Word().digest());
  CHECK(word_of("AB").digest() != word_of("BA").digest());
  CHECK(word_of("(3A)").digest() != word_of("(4A)").digest());
}

TEST_CASE("the first difference and the operation that makes it are found inside loops") {
  const Program program = program_of("A(3BC)D");  // A BC BC BC D: operations A0, loop1, B2, C3, D4
  const Word a = word_of(program);
  CHECK(a.length() == 8);
  CHECK(a.operation_at(0) == 0);
  CHECK(a.operation_at(5) == 2);
  CHECK(a.operation_at(6) == 3);
  CHECK(a.operation_at(7) == 4);
  CHECK(program::first_difference(a, word_of("ABCBCBD")) == 6);
  CHECK(program::first_difference(a, word_of("ABC")) == 3);  // the shorter begins the longer
  for (std::uint64_t n = 0; n <= a.length(); ++n) {
    CHECK(a.prefix(n).length == n);
  }
}

TEST_CASE("nested loops of 2^27 and 2^27 rounds are not expanded") {
  // "[9" is a loop of 2^27 rounds. 2^27 x (A then 2^27 x B) against the same with the last round
  // written out: lengths 2^27 x (1 + 2^27), equal; one more A at the end is found at exactly there.
  const Word a = word_of("[9A[9B]]");
  const std::uint64_t round = 1 + (std::uint64_t{1} << 27);
  const std::uint64_t length = (std::uint64_t{1} << 27) * round;
  CHECK(a.length() == length);
  CHECK(word_of("[9A[9B]]A").prefix(length) == a.digest());
  CHECK(program::first_difference(a, word_of("[9A[9B]]A")) == length);
  // One B missing in every round: the first round ends one symbol early, with an A where a B was due.
  CHECK(program::first_difference(a, word_of("[9A[8B]]")) == 1 + (std::uint64_t{1} << 24));
}
