import { RegistryError } from '../kit/index.ts'
import type { FileOperations } from './durable.ts'

interface OpenedDirectoryOptions {
  readonly files: FileOperations
  readonly path: string
  /** Whether another directory that is now at the path may take the place of the one that was opened. */
  readonly isReplacement: () => Promise<boolean>
  /** Called if the directory is missing, or is another one than before. */
  readonly onLost: () => void
}

/**
 * A directory that must stay the one that was opened. If its volume is lost while the process runs, the path leads to
 * nothing, to what is below the mount point, or to another volume, and what is written there is lost.
 */
export class OpenedDirectory {
  readonly #options: OpenedDirectoryOptions
  /** Device and inode. `undefined` before the first check. */
  #identity: string | undefined

  constructor(options: OpenedDirectoryOptions) {
    this.#options = options
  }

  /**
   * Checks which directory is at the path. The first call determines the right one.
   *
   * @throws `UNAVAILABLE` if it is another one, and errors of the file system, such as `ENOENT`
   */
  async assertSame(): Promise<void> {
    const { path, isReplacement, onLost } = this.#options
    const found = await this.#find()
    this.#identity ??= found
    if (found === this.#identity) return
    onLost()
    if (!(await isReplacement()))
      throw new RegistryError(
        'UNAVAILABLE',
        `${path} is another directory than at the start: mount its volume again, or restart`,
      )
    this.#identity = found
  }

  async #find(): Promise<string> {
    const { files, path, onLost } = this.#options
    try {
      const { dev, ino } = await files.stat(path, { bigint: true })
      return `${dev} ${ino}`
    } catch (error) {
      onLost()
      throw error
    }
  }
}
