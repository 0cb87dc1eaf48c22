const LINE_FEED = 0x0a

/**
 * Yields the lines of a file, those of each chunk together. The last line may lack its end. A line of more than
 * `maxBytes` is yielded as soon as so much of it was read, and its rest is left out.
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<readonly Uint8Array[]> {
  /** The pieces of a line that began in earlier chunks, which are joined once. */
  let pieces: Uint8Array[] = []
  let [length, isLeftOut] = [0, false]
  for await (const chunk of chunks) {
    const lines: Uint8Array[] = []
    let at = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, at)) {
      const part = chunk.subarray(at, end)
      if (!isLeftOut) lines.push(pieces.length === 0 ? part : Buffer.concat([...pieces, part]))
      ;[pieces, length, isLeftOut] = [[], 0, false]
      at = end + 1
    }
    if (at < chunk.length && !isLeftOut) pieces.push(chunk.subarray(at))
    length += chunk.length - at
    if (length > maxBytes && !isLeftOut) {
      lines.push(Buffer.concat(pieces))
      ;[pieces, isLeftOut] = [[], true]
    }
    yield lines
  }
  if (pieces.length > 0) yield [Buffer.concat(pieces)]
}
