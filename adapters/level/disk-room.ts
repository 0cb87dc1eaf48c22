import { open, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'

const MIB = 1024 * 1024
/** What an open of LevelDB can write at once: its buffer of 16 MiB as a table, a new log and a manifest. */
const LEAST_FREE_BYTES = 32 * MIB

/** The free space of a directory's disk, and a file that keeps some of it in reserve. */
export class DiskRoom {
  readonly #directory: string
  readonly #reserve: string
  readonly #reserveBytes: number
  readonly #freeBytes: (directory: string) => Promise<number>

  /** `reserveBytes` 0: no reserve file. `freeBytes`: the space that a process of this user can write. */
  constructor(directory: string, reserveBytes: number, freeBytes = freeBytesOf) {
    this.#directory = directory
    this.#reserve = join(directory, 'reserve')
    this.#reserveBytes = reserveBytes
    this.#freeBytes = freeBytes
  }

  /** Whether there is room to write, the reserve included, and the disk can be written at all. */
  async isEnough(): Promise<boolean> {
    try {
      return (await this.missingBytes()) === 0 && (await this.#canWrite())
    } catch {
      return false
    }
  }

  /** How many bytes must be freed until there is room to write, the reserve included. */
  async missingBytes(): Promise<number> {
    const reserve = (await this.#hasReserve()) ? 0 : this.#reserveBytes
    return Math.max(0, LEAST_FREE_BYTES + reserve - (await this.#freeBytes(this.#directory)))
  }

  /**
   * Removes the reserve file if a store could not be opened without its space. Returns whether it did. The file may be
   * smaller than the setting: a crash left it incomplete, or the setting was raised.
   */
  async spendIfNeeded(): Promise<boolean> {
    if ((await this.#reservedBytes()) === 0 || (await this.#freeBytes(this.#directory)) >= LEAST_FREE_BYTES)
      return false
    await rm(this.#reserve)
    return true
  }

  /** Writes the reserve file if it is missing and there is room for it. Does not throw. */
  async restore(signal?: AbortSignal): Promise<void> {
    try {
      if (this.#reserveBytes === 0 || (await this.#hasReserve()) || !(await this.isEnough())) return
      await this.#write(signal)
    } catch {
      await rm(this.#reserve, { force: true }).catch(() => undefined)
    }
  }

  /** Not as a hole, and with bytes that a file system cannot compress. Replaces a file that a crash left incomplete. */
  async #write(signal: AbortSignal | undefined): Promise<void> {
    const chunk = crypto.getRandomValues(new Uint8Array(65_536))
    const file = await open(this.#reserve, 'w', 0o600)
    try {
      for (let written = 0; written < this.#reserveBytes; written += chunk.length) {
        signal?.throwIfAborted()
        await file.write(chunk)
      }
      await file.sync()
    } finally {
      await file.close()
    }
  }

  async #hasReserve(): Promise<boolean> {
    return (await this.#reservedBytes()) >= this.#reserveBytes
  }

  /** Returns 0 if there is no file. */
  async #reservedBytes(): Promise<number> {
    return (await stat(this.#reserve).catch(() => undefined))?.size ?? 0
  }

  async #canWrite(): Promise<boolean> {
    const probe = join(this.#directory, 'probe')
    const file = await open(probe, 'w', 0o600)
    try {
      await file.write(new Uint8Array(4_096))
      await file.sync()
    } finally {
      await file.close()
      await rm(probe, { force: true })
    }
    return true
  }
}

async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}
