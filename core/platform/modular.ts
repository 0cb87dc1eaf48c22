/** Arithmetic modulo a number, for checks of public values only: it does not run in constant time. */

/** The remainder in 0 … modulus − 1, also for negative values. */
export function mod(value: bigint, modulus: bigint): bigint {
  const rest = value % modulus
  return rest < 0n ? rest + modulus : rest
}

/** Requires base >= 0 and exponent >= 0. */
export function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let [result, square] = [1n, base % modulus]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}
