// Record gemmlowp's fixed-point rescaling into gemmlowp.json.
//
//   g++ -std=c++17 -I <gemmlowp> record_gemmlowp.cc -o record_gemmlowp && ./record_gemmlowp > gemmlowp.json
//
// <gemmlowp> is the library's folder (it has fixedpoint/fixedpoint.h); it is header only.
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>

#include "fixedpoint/fixedpoint.h"

int main() {
  std::mt19937 random(20261203);
  std::uniform_int_distribution<std::int32_t> any_multiplier(1 << 30, std::numeric_limits<std::int32_t>::max());
  const std::int32_t ends[] = {0, 1, -1, 2, -2, 3, -3, std::numeric_limits<std::int32_t>::max(),
                               std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::min() + 1};
  std::printf("{\"library\": \"gemmlowp e844ffd (2021-12-20)\", \"script\": \"tests/vectors/record_gemmlowp.cc\", \"cases\": [\n");
  for (int shift = 0; shift <= 31; ++shift) {
    for (int kind = 0; kind < 4; ++kind) {
      const std::int32_t multiplier = kind == 0   ? 1 << 30  // one half: the first rounding has ties
                                      : kind == 1 ? std::numeric_limits<std::int32_t>::max()
                                                  : any_multiplier(random);
      // Sums whose quotients fall on ties and into the range of codes, then any of 32 bits.
      const std::int64_t step = (std::int64_t{1} << (shift < 24 ? shift : 24)) / 2 + 1;
      std::printf("{\"quantized_multiplier\":%d,\"right_shift\":%d,\"accumulator\":[", multiplier, shift);
      std::int32_t sums[40];
      for (int i = 0; i < 40; ++i) {
        sums[i] = i < 10   ? ends[i]
                  : i < 30 ? static_cast<std::int32_t>((i - 20) * step)
                           : static_cast<std::int32_t>(random());
        std::printf(i ? ",%d" : "%d", sums[i]);
      }
      std::printf("],\"y\":[");
      for (int i = 0; i < 40; ++i) {
        const std::int32_t high = gemmlowp::SaturatingRoundingDoublingHighMul(sums[i], multiplier);
        std::printf(i ? ",%d" : "%d", gemmlowp::RoundingDivideByPOT(high, shift));
      }
      std::printf("]}%s\n", shift == 31 && kind == 3 ? "" : ",");
    }
  }
  std::printf("]}\n");
}
