/*
 * H(01 || left || right) of RFC 6962 in C, with as many nodes side by side as a vector of BYTES bytes holds (-DBYTES=16,
 * 32 or 64). This is what one thread of this processor can do without its SHA instructions. bench/cases/limit.ts
 * compares it with the WebAssembly kernel, whose vectors have 16 bytes. `native-nodes COUNT` prints the median ns for
 * each node and the last hash in hex.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LANES (BYTES / 4)
#define ROUNDS 15

typedef uint32_t words __attribute__((vector_size(BYTES)));

static const uint32_t K[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
  0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
  0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
  0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
  0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
  0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static const uint32_t H[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

#define ROTR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))

static inline void compress(words state[8], words w[16]) {
  words a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
#pragma GCC unroll 16
  for (int t = 0; t < 64; t++) {
    if (t >= 16) {
      words s0 = w[(t + 1) & 15], s1 = w[(t + 14) & 15];
      s0 = ROTR(s0, 7) ^ ROTR(s0, 18) ^ (s0 >> 3);
      s1 = ROTR(s1, 17) ^ ROTR(s1, 19) ^ (s1 >> 10);
      w[t & 15] += s0 + s1 + w[(t + 9) & 15];
    }
    words t1 = h + (ROTR(e, 6) ^ ROTR(e, 11) ^ ROTR(e, 25)) + (g ^ (e & (f ^ g))) + K[t] + w[t & 15];
    words t2 = (ROTR(a, 2) ^ ROTR(a, 13) ^ ROTR(a, 22)) + ((a & b) | (c & (a | b)));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

/* Hashes LANES nodes. Also reads the byte before `children`. */
static void hash_nodes(const uint8_t *children, uint8_t *out) {
  words w[16], state[8];
  for (int t = 0; t < 16; t++)
    for (int lane = 0; lane < LANES; lane++) {
      uint32_t bytes;
      memcpy(&bytes, children + 64 * lane + 4 * t - 1, 4);
      bytes = __builtin_bswap32(bytes);
      w[t][lane] = t == 0 ? (bytes & 0xffffff) | 0x01000000 : bytes;
    }
  for (int i = 0; i < 8; i++) state[i] = (words){0} + H[i];
  compress(state, w);
  for (int t = 1; t < 15; t++) w[t] = (words){0};
  for (int lane = 0; lane < LANES; lane++) w[0][lane] = (uint32_t)children[64 * lane + 63] << 24 | 0x800000;
  w[15] = (words){0} + 520;
  compress(state, w);
  for (int i = 0; i < 8; i++)
    for (int lane = 0; lane < LANES; lane++) {
      uint32_t word = __builtin_bswap32(state[i][lane]);
      memcpy(out + 32 * lane + 4 * i, &word, 4);
    }
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  long count = argc > 1 ? atol(argv[1]) / LANES * LANES : LANES;
  uint8_t *children = malloc(64 * count + 1), *out = malloc(32 * count);
  double nanos[ROUNDS];
  /* native-nodes.ts makes the same sequence to check the last hash. */
  for (long i = 0; i <= 64 * count; i++) children[i] = (uint8_t)((i * 7 + (i >> 8)) & 0xff);
  for (int round = 0; round < ROUNDS; round++) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < count; i += LANES) hash_nodes(children + 1 + 64 * i, out + 32 * i);
    clock_gettime(CLOCK_MONOTONIC, &end);
    nanos[round] = ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / count;
  }
  qsort(nanos, ROUNDS, sizeof(double), compare_doubles);
  printf("%.1f ", nanos[ROUNDS / 2]);
  for (int i = 0; i < 32; i++) printf("%02x", out[32 * (count - 1) + i]);
  printf("\n");
}
