const LINE_FEED = 0x0a

/**
 * Yields the lines of a file, those of each chunk together. The last line may lack its end.
 *
 * @param tooLong - the error for a line of more than `maxBytes`
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLong: (line: number) => Error,
): AsyncGenerator<readonly Uint8Array[]> {
  /** The pieces of a line that began in earlier chunks, which are joined once. */
  let pieces: Uint8Array[] = []
  let [length, count] = [0, 0]
  for await (const chunk of chunks) {
    const lines: Uint8Array[] = []
    let at = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, at)) {
      const part = chunk.subarray(at, end)
      lines.push(pieces.length === 0 ? part : Buffer.concat([...pieces, part]))
      pieces = []
      at = end + 1
    }
    count += lines.length
    if (at > 0) length = 0
    if (at < chunk.length) pieces.push(chunk.subarray(at))
    length += chunk.length - at
    if (length > maxBytes) throw tooLong(count + 1)
    yield lines
  }
  if (pieces.length > 0) yield [Buffer.concat(pieces)]
}
