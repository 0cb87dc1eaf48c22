import { isError, messageOf, RegistryError } from '../kit/index.ts'
import type { LevelDatabase } from './layout.ts'

/** How LevelDB uses memory and files. */
export interface DatabaseOptions {
  /** Size of LevelDB's write buffer. Default 64 MiB. It costs up to twice this memory. */
  readonly writeBufferBytes?: number
  /** How many tables of 8 MiB LevelDB keeps open, mapped into memory. Default 1,000. */
  readonly maxOpenFiles?: number
}

const causeCode = (error: unknown): unknown =>
  isError(error) && isError(error.cause) && 'code' in error.cause ? error.cause.code : undefined

/** Whether LevelDB could not get its lock. */
export const isLocked = (error: unknown): boolean => causeCode(error) === 'LEVEL_LOCKED'

/** Whether LevelDB found damage. */
export const isDamaged = (error: unknown): boolean => causeCode(error) === 'LEVEL_CORRUPTION'

/**
 * Cache of uncompressed blocks that were read; it uses memory only as it fills. With LevelDB's default of 8 MiB, most
 * reads among 20,000 evidences decompress a block (a get: 119 against 110 µs).
 */
const BLOCK_CACHE_BYTES = 64 * 1024 * 1024

/**
 * Data that LevelDB gathers in memory before it writes a table. At its default of 4 MiB each batch of 65,536 entries
 * fills it, and the next write waits for the table. With more it merges less: of bulk creates, each took 120 µs of CPU
 * time with 64 MiB and 160 with 16. It costs up to twice this memory, and time at an open after a crash, because that
 * reads as much of the log again: 1.3 instead of 0.3 s.
 */
const WRITE_BUFFER_BYTES = 64 * 1024 * 1024

/**
 * Size of a table. LevelDB keeps 1,000 of them open, and a look-up in another one opens it first: with 64 of 160 open a
 * get took 311 instead of 80 µs. By the size of an evidence, tables of 2 MiB, the default, would reach this at 2.5
 * million evidences, those of 8 MiB at 10 million. A create writes a tenth more.
 */
const TABLE_BYTES = 8 * 1024 * 1024

/** Loads LevelDB. Returns a function that makes the database of a folder, not opened yet. */
export async function classicLevel({
  writeBufferBytes = WRITE_BUFFER_BYTES,
  maxOpenFiles = 1_000,
}: DatabaseOptions = {}): Promise<(folder: string) => LevelDatabase> {
  const { Level } = await import('level').catch((cause: unknown) => {
    const message = 'LevelDB cannot be loaded. If this program is a bundle, mark evidence-registry as external'
    throw new RegistryError('CONFIG_ERROR', `${message}: ${messageOf(cause)}`, { cause })
  })
  return (folder) =>
    new Level<string, Uint8Array>(folder, {
      keyEncoding: 'utf8',
      valueEncoding: 'view',
      writeBufferSize: writeBufferBytes,
      cacheSize: BLOCK_CACHE_BYTES,
      maxOpenFiles,
      maxFileSize: TABLE_BYTES,
    })
}
