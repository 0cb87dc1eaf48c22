import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { accountOfPrivateKey, type EvmAccount } from '../../adapters/evm/index.ts'

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** Path of Foundry's node, which its npm package contains for most platforms. */
function findBinary(): string | undefined {
  const name = `@foundry-rs/anvil-${process.platform}-${ARCHITECTURES[process.arch] ?? process.arch}`
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`)
    const path = join(dirname(manifest), 'bin', process.platform === 'win32' ? 'anvil.exe' : 'anvil')
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

const anvilBinary = findBinary()

/** For the `skip` option of a suite: the reason, which the runner shows, or false. */
export const withoutAnvil: string | false =
  anvilBinary === undefined && `@foundry-rs/anvil has no binary for ${process.platform} ${process.arch}`

export const CHAIN_ID = 31_337
export const GWEI = 10n ** 9n

export interface AnvilOptions {
  readonly port?: number
  /** File that keeps the chain over restarts: written when the node stops, read when it starts. */
  readonly statePath?: string
}

/** A real node with its own chain, which mines on request. */
export class Anvil {
  readonly url: string
  readonly #process: ChildProcess
  readonly #exited: Promise<void>

  private constructor(child: ChildProcess, url: string) {
    this.#process = child
    this.url = url
    this.#exited = new Promise((resolve) => void child.once('exit', () => resolve()))
  }

  static async start({ port = 0, statePath }: AnvilOptions = {}): Promise<Anvil> {
    if (anvilBinary === undefined) throw new Error(String(withoutAnvil))
    // npm does not always keep the execute permission.
    if (((await stat(anvilBinary)).mode & 0o111) === 0) await chmod(anvilBinary, 0o755)
    const state = statePath === undefined ? [] : ['--state', statePath]
    const settings = ['--no-mining', '--accounts', '0', '--host', '127.0.0.1', '--order', 'fees']
    const args = [...settings, ...state, '--chain-id', String(CHAIN_ID), '--port', String(port)]
    const child = spawn(anvilBinary, args, { stdio: ['ignore', 'pipe', 'ignore'] })
    return new Anvil(child, `http://${await listeningAddress(child)}`)
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

  /** Replaces the last blocks with empty ones. Their transactions are dropped. */
  async reorganize(blocks: number): Promise<void> {
    await this.rpc('anvil_reorg', blocks, [])
  }

  async drop(transaction: string): Promise<void> {
    await this.rpc('anvil_dropTransaction', transaction)
  }

  async setBaseFee(wei: bigint): Promise<void> {
    await this.rpc('anvil_setNextBlockBaseFeePerGas', `0x${wei.toString(16)}`)
    await this.mine()
  }

  /** Remembers the present blocks. The function that is returned goes back to them, and empties the pool. */
  async snapshot(): Promise<() => Promise<void>> {
    let id = await this.rpc('evm_snapshot')
    return async () => {
      await this.rpc('anvil_dropAllTransactions')
      await this.rpc('evm_setAutomine', false)
      await this.rpc('evm_revert', id)
      id = await this.rpc('evm_snapshot')
      await this.setBaseFee(GWEI)
    }
  }

  async fund(address: string, wei = 10n ** 21n): Promise<void> {
    await this.rpc('anvil_setBalance', address, `0x${wei.toString(16)}`)
  }

  async height(): Promise<number> {
    return Number(await this.rpc('eth_blockNumber'))
  }

  /** A block with its transactions. */
  async block(number: number | 'latest'): Promise<Record<string, unknown> & { transactions: Transaction[] }> {
    const tag = typeof number === 'number' ? `0x${number.toString(16)}` : number
    return (await this.rpc('eth_getBlockByNumber', tag, true)) as Record<string, unknown> & {
      transactions: Transaction[]
    }
  }

  /** All transactions of an account that are in blocks. */
  async transactionsOf(address: string): Promise<readonly Transaction[]> {
    const transactions: Transaction[] = []
    for (let number = await this.height(); number > 0; number--)
      transactions.push(...(await this.block(number)).transactions.filter(({ from }) => from === address.toLowerCase()))
    return transactions
  }

  /** Stops it with SIGTERM. With a state path, it writes its state. */
  async stop(): Promise<void> {
    this.#process.kill('SIGTERM')
    await this.#exited
  }
}

/** Waits until the node prints its address. Reads its output to the end, because a full pipe would block the node. */
async function listeningAddress({ stdout }: ChildProcessByStdio<null, Readable, null>): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    const onData = (chunk: Buffer): void => {
      output += chunk.toString()
      const [, address] = /Listening on (\S+)\s/.exec(output) ?? []
      if (address === undefined) return
      stdout.off('data', onData).resume()
      resolve(address)
    }
    stdout.on('data', onData)
    stdout.once('end', () => reject(new Error(`anvil ended before it listened: ${output}`)))
  })
}

export interface Transaction {
  readonly hash: string
  readonly from: string
  readonly nonce: string
  readonly input: string
  readonly maxFeePerGas: string
}

/** An account with a new key. */
export const newAccount = (): Promise<EvmAccount> => accountOfPrivateKey(newPrivateKey())
export const newPrivateKey = (): string => randomBytes(32).toString('hex')
