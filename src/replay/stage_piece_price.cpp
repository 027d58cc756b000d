#include "replay/stage_piece_price.hpp"

namespace stepcast::replay {
namespace {

/// A time as a function of the inputs of a piece: the maximum over inputs of input + constant.
struct Linear {
  using Time = PricedPiece::Row;

  [[nodiscard]] static Time none() {
    Time time;
    time.fill(PricedPiece::kNever);
    return time;
  }
  [[nodiscard]] static Time input(std::size_t which) {
    Time time = none();
    time[which] = 0;
    return time;
  }
  [[nodiscard]] static Time join(Time a, const Time& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = std::max(a[i], b[i]);
    }
    return a;
  }
  [[nodiscard]] static Time later(Time time, const PricedPiece& piece, std::uint32_t operation) {
    for (std::int64_t& constant : time) {
      constant =
          constant == PricedPiece::kNever ? constant : constant + piece.operations[operation].duration_ps;
    }
    return time;
  }
};

}  // namespace

void fill_matrix(PricedPiece& piece) {
  Linear linear;
  PieceWalk<Linear> walk(piece, linear);
  std::array<PricedPiece::Row, PricedPiece::kOutputs> matrix;
  matrix.fill(Linear::none());
  walk.begin(Linear::input(PricedPiece::kComputeFree), Linear::input(PricedPiece::kTensorFree),
             Linear::input(PricedPiece::kDataFree), Linear::input(PricedPiece::kGathersBegin),
             Linear::input(PricedPiece::kReceived));
  matrix[PricedPiece::kPosted] = walk.posted();
  if (piece.send != kNone) {
    matrix[PricedPiece::kSendReady] = walk.send_ready();
    walk.sent(Linear::input(PricedPiece::kSent));
  }
  if (piece.embedding != kNone) {
    matrix[PricedPiece::kEmbeddingReady] = walk.embedding_ready();
    walk.embedded(Linear::input(PricedPiece::kEmbeddingDone));
  }
  matrix[PricedPiece::kComputeThen] = walk.compute();
  matrix[PricedPiece::kTensorThen] = walk.tensor();
  matrix[PricedPiece::kDataThen] = walk.data();
  matrix[PricedPiece::kTaskDone] = walk.task_done();
  matrix[PricedPiece::kEnd] = walk.end();
  matrix[PricedPiece::kGathersDone] = walk.gathered();
  piece.needs_sent = false;
  for (const auto output : {PricedPiece::kEmbeddingReady, PricedPiece::kComputeThen, PricedPiece::kTensorThen,
                            PricedPiece::kDataThen}) {
    piece.needs_sent = piece.needs_sent || matrix[output][PricedPiece::kSent] != PricedPiece::kNever;
  }
  for (std::size_t output = 0; output < PricedPiece::kOutputs; ++output) {
    PricedPiece::Terms& terms = piece.matrix[output];
    terms.count = 0;
    for (std::size_t input = 0; input < PricedPiece::kInputs; ++input) {
      if (matrix[output][input] != PricedPiece::kNever) {
        terms.input[terms.count] = static_cast<std::uint8_t>(input);
        terms.constant[terms.count++] = matrix[output][input];
      }
    }
  }
}

}  // namespace stepcast::replay
