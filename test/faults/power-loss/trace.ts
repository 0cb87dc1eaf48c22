/** What a process did to the files of a folder, as `interposer/interpose.c` records it. */

/** The operations, by their numbers in the file. */
const OPERATIONS = [
  undefined,
  'create',
  'write',
  'sync',
  'sync-folder',
  'rename',
  'link',
  'unlink',
  'mkdir',
  'rmdir',
  'truncate',
] as const

export type TracedOperation = Exclude<(typeof OPERATIONS)[number], undefined>

export interface TraceRecord {
  readonly operation: TracedOperation
  /** Number of the file on its disk. It can be used again once the file is gone. */
  readonly file: bigint
  /** Of a write: the position of its bytes. Of a truncate: the new size. */
  readonly offset: number
  /** Path of the file or folder; of a rename or link: the old path. Empty for writes, syncs of files and truncates. */
  readonly path: string
  /** Of a write: its bytes. Of a rename or link: the new path. */
  readonly bytes: Buffer
}

/** One byte for the operation, two lengths, the number of the file, and the offset. */
const HEADER_BYTES = 25

/** Parses a whole trace. A record that is cut off at the end is left out: its process was killed. */
export function parseTrace(trace: Buffer): readonly TraceRecord[] {
  const records: TraceRecord[] = []
  for (let at = 0; at + HEADER_BYTES <= trace.length;) {
    const operation = OPERATIONS[trace.readUInt8(at)]
    const pathEnd = at + HEADER_BYTES + trace.readUInt32LE(at + 1)
    const end = pathEnd + trace.readUInt32LE(at + 5)
    if (operation === undefined) throw new Error(`Unknown operation at byte ${at} of the trace`)
    if (end > trace.length) break
    records.push({
      operation,
      file: trace.readBigUInt64LE(at + 9),
      offset: Number(trace.readBigUInt64LE(at + 17)),
      path: trace.toString('utf8', at + HEADER_BYTES, pathEnd),
      bytes: trace.subarray(pathEnd, end),
    })
    at = end
  }
  return records
}
