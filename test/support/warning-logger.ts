import type { Logger } from '../../core/index.ts'

/** A logger that keeps the messages of warnings, and drops everything else. */
export function warningLogger(): { readonly logger: Logger; readonly warnings: readonly string[] } {
  const warnings: string[] = []
  const ignore = (): void => undefined
  return {
    logger: { debug: ignore, info: ignore, warn: (_, message) => void warnings.push(message), error: ignore },
    warnings,
  }
}
