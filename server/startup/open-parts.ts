interface Closable {
  close(): Promise<void>
}

/** Uses what was just opened. Closes it if that fails. */
export async function orClose<P extends Closable, T>(part: P, use: (part: P) => Promise<T> | T): Promise<T> {
  try {
    return await use(part)
  } catch (error) {
    await part.close()
    throw error
  }
}

/** Collects what was opened, so that everything is closed if a later part cannot be opened. */
export class OpenParts {
  readonly #parts: Closable[] = []

  /** Opens parts and uses them. Closes all of them, also if that fails. */
  static async use<T>(use: (parts: OpenParts) => Promise<T>): Promise<T> {
    const parts = new OpenParts()
    try {
      return await use(parts)
    } finally {
      await parts.close()
    }
  }

  /** Keeps a part that is open. */
  keep(part: Closable): void {
    this.#parts.push(part)
  }

  /** Waits until a part is open and keeps it. `closable` selects what to close, if it is not the part itself. */
  add<T extends Closable>(opening: Promise<T>): Promise<T>
  add<T>(opening: Promise<T>, closable: (value: T) => Closable): Promise<T>
  async add<T extends Closable>(opening: Promise<T>, closable: (value: T) => Closable = (value) => value): Promise<T> {
    const value = await opening
    this.keep(closable(value))
    return value
  }

  /** Closes all parts, the last one first, even if one of them fails. Throws the first error. */
  async close(): Promise<void> {
    const results: PromiseSettledResult<void>[] = []
    for (const part of this.#parts.splice(0).reverse()) results.push(...(await Promise.allSettled([part.close()])))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }
}
