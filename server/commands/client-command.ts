import { createClient, EvidenceRegistryError, type Client } from '../client/index.ts'
import type { CommandInput } from './command.ts'
import { parseFlags, UsageError, type CommandArguments, type CommandFlag, type FlagValues } from './flags.ts'
import { printable, whyUnreadable } from './terminal.ts'

/** Commands for people who have files. They use the REST API of a server, wherever it runs, and load its client. */

/** The flags that all of them have. */
export const CLIENT_FLAGS = {
  url: { value: 'URL', isRequired: true, doc: 'the address of the service, such as https://evidence.example' },
  company: { value: 'ID', isRequired: true, doc: 'the company; its key is read from EVIDENCE_API_KEY' },
  json: { doc: 'print one JSON object for each line of the output' },
} as const satisfies Readonly<Record<string, CommandFlag>>

type ClientFlags = typeof CLIENT_FLAGS & Readonly<Record<string, CommandFlag>>

interface ClientCommand<F extends ClientFlags> extends CommandArguments<F> {
  /** Returns the exit code. */
  run(registry: Client, values: FlagValues<F>, operands: readonly string[]): Promise<number>
}

const EXIT_CODES = '0 done; 1 refused by the service, or not reached; 2 wrong use'

/** Makes a command out of its description. Errors go to stderr, one line each. */
export const defineClientCommand =
  <F extends ClientFlags>(command: ClientCommand<F>, moreCodes = '') =>
  async ({ args, env }: CommandInput): Promise<number> => {
    try {
      const parsed = parseFlags(command, args, EXIT_CODES + moreCodes)
      if (parsed === undefined) return 0
      const { url, company }: Readonly<Record<string, unknown>> = parsed.values
      const { EVIDENCE_API_KEY: apiKey } = env
      if (!apiKey || /\p{Cc}/u.test(apiKey))
        throw new UsageError('set EVIDENCE_API_KEY to a key of the company, without a line break')
      const registry = createClient({ baseUrl: baseUrlOf(String(url)), companyId: String(company), apiKey })
      return await command.run(registry, parsed.values, parsed.operands)
    } catch (error) {
      const reason = error instanceof EvidenceRegistryError ? `${error.message} (${error.code})` : whyUnreadable(error)
      process.stderr.write(`evidence-registry ${command.name}: ${printable(reason)}\n`)
      return error instanceof UsageError ? 2 : 1
    }
  }

/** The base path may be left out. */
export function baseUrlOf(url: string): string {
  if (!/^https?:/i.test(url) || !URL.canParse(url)) throw new UsageError('--url must be an http or https URL')
  const { pathname } = new URL(url)
  return pathname === '/' ? new URL('/api/v1', url).href : url
}
