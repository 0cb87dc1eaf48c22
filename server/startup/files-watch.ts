import { setTimeout as delay } from 'node:timers/promises'
import { LocalBlobs } from '../../adapters/files/index.ts'
import type { BlobStore, Logger } from '../../core/index.ts'

export interface FilesWatchOptions {
  readonly blobs: BlobStore
  readonly logger: Pick<Logger, 'error' | 'info'>
}

const CHECK_MS = 5_000

/**
 * Notices that the directory of the files is missing or replaced, because its volume was lost while the server runs,
 * and that it is back. Other stores tell it by requests that fail.
 */
export class FilesWatch {
  readonly #options: FilesWatchOptions
  #isLost = false

  constructor(options: FilesWatchOptions) {
    this.#options = options
  }

  /** Whether files can be neither stored nor read. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Checks every few seconds. It does not keep the process alive. */
  async start(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.check()
      await delay(CHECK_MS, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async check(): Promise<void> {
    const { blobs, logger } = this.#options
    if (!(blobs instanceof LocalBlobs)) return
    const wasLost = this.#isLost
    try {
      await blobs.assertAvailable()
      this.#isLost = false
      if (wasLost) logger.info({}, 'the directory of the files is back')
    } catch (err) {
      this.#isLost = true
      if (!wasLost) logger.error({ err }, 'the directory of the files is lost: no file can be stored or read')
    }
  }
}
