import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { accountOfPrivateKey, type EvmAccount } from '../../adapters/evm/index.ts'

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** Foundry's node, from npm: its package brings one binary for the platform. `undefined` where there is none. */
function binary(): string | undefined {
  const name = `@foundry-rs/anvil-${process.platform}-${ARCHITECTURES[process.arch] ?? process.arch}`
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`)
    const path = join(dirname(manifest), 'bin', process.platform === 'win32' ? 'anvil.exe' : 'anvil')
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

const anvilBinary = binary()

/** For a suite's `skip`: the reason, or false. The runner shows it. */
export const withoutAnvil: string | false =
  anvilBinary === undefined && `@foundry-rs/anvil has no binary for ${process.platform} ${process.arch}`

export const CHAIN_ID = 31_337
export const GWEI = 10n ** 9n
export const ETHER = 10n ** 18n

export interface AnvilOptions {
  readonly chainId?: number
  readonly port?: number
  /** Kept over restarts: written when it ends, read when it starts. */
  readonly statePath?: string
}

/** A real node of its own chain, that mines when it is told to. */
export class Anvil {
  readonly url: string
  readonly #process: ChildProcess
  readonly #exited: Promise<void>

  private constructor(child: ChildProcess, url: string) {
    this.#process = child
    this.url = url
    this.#exited = new Promise((resolve) => void child.once('exit', () => resolve()))
  }

  static async start({ chainId = CHAIN_ID, port = 0, statePath }: AnvilOptions = {}): Promise<Anvil> {
    if (anvilBinary === undefined) throw new Error(String(withoutAnvil))
    // npm does not always keep the run bit.
    if (((await stat(anvilBinary)).mode & 0o111) === 0) await chmod(anvilBinary, 0o755)
    const state = statePath === undefined ? [] : ['--state', statePath]
    const settings = ['--no-mining', '--accounts', '0', '--host', '127.0.0.1', '--silent', '--order', 'fees']
    // Silent, it does not say which port it took.
    const own = port === 0 ? await freePort() : port
    const child = spawn(anvilBinary, [...settings, ...state, '--chain-id', String(chainId), '--port', String(own)], {
      stdio: 'ignore',
    })
    const anvil = new Anvil(child, `http://127.0.0.1:${own}`)
    for (let i = 0; i < 500; i++) {
      if (child.exitCode !== null) throw new Error(`anvil ended with ${child.exitCode}`)
      if (await anvil.rpc('eth_chainId').catch(() => undefined)) return anvil
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await anvil.stop()
    throw new Error('anvil did not start in five seconds')
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  async rpc(method: string, ...params: readonly unknown[]): Promise<unknown> {
    const response = await fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } }
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }

  async mine(blocks = 1): Promise<void> {
    await this.rpc('anvil_mine', `0x${blocks.toString(16)}`)
  }

  /** The last blocks are replaced by empty ones; what was in them is forgotten. */
  async reorganise(blocks: number): Promise<void> {
    await this.rpc('anvil_reorg', blocks, [])
  }

  async drop(transaction: string): Promise<void> {
    await this.rpc('anvil_dropTransaction', transaction)
  }

  async setBaseFee(wei: bigint): Promise<void> {
    await this.rpc('anvil_setNextBlockBaseFeePerGas', `0x${wei.toString(16)}`)
    await this.mine()
  }

  async fund(address: string, wei = 1000n * ETHER): Promise<void> {
    await this.rpc('anvil_setBalance', address, `0x${wei.toString(16)}`)
  }

  async height(): Promise<number> {
    return Number(await this.rpc('eth_blockNumber'))
  }

  /** With its transactions. */
  async block(number: number | 'latest'): Promise<Record<string, unknown> & { transactions: Transaction[] }> {
    const tag = typeof number === 'number' ? `0x${number.toString(16)}` : number
    return (await this.rpc('eth_getBlockByNumber', tag, true)) as Record<string, unknown> & {
      transactions: Transaction[]
    }
  }

  /** Every transaction of an account that is in a block. */
  async transactionsOf(address: string): Promise<readonly Transaction[]> {
    const found: Transaction[] = []
    for (let number = await this.height(); number > 0; number--)
      found.push(...(await this.block(number)).transactions.filter(({ from }) => from === address.toLowerCase()))
    return found
  }

  /** Ends it as an operator would: with a state path, its state is written. */
  async stop(): Promise<void> {
    this.#process.kill('SIGTERM')
    await this.#exited
  }
}

export interface Transaction {
  readonly hash: string
  readonly from: string
  readonly nonce: string
  readonly input: string
  readonly maxFeePerGas: string
}

/** An account that nobody has had before. */
export const newAccount = (): EvmAccount => accountOfPrivateKey(newPrivateKey())
export const newPrivateKey = (): string => randomBytes(32).toString('hex')

export async function temporaryDirectory(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'evidence-evm-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
