import type { Logger } from '../../core/index.ts'

/** A line with its fields. */
export interface LogLine extends Readonly<Record<string, unknown>> {
  readonly level: keyof Logger
  readonly message: string
}

/** A logger that keeps its lines. `warnings`: the messages of those of that level. */
export function recordingLogger() {
  const lines: LogLine[] = []
  const warnings: string[] = []
  const at = (level: keyof Logger) => (fields: object, message: string) => {
    lines.push({ ...fields, level, message })
    if (level === 'warn') warnings.push(message)
  }
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { logger, lines, warnings } as const
}
