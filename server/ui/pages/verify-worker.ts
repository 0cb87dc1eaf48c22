import type { BundleCheck } from '../../../core/verify/index.ts'
import { FieldError, type Problems } from '../failure.ts'
import { verifyDocument, type Outcome, type VerifyRequest } from './verify-document.ts'

/** What the worker sends: each check as it begins, then what was found, or what is wrong. */
export type WorkerMessage =
  | { readonly check: BundleCheck }
  | { readonly outcome: Outcome }
  | { readonly problems: Problems }
  | { readonly message: string }

// eslint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
const send = (message: WorkerMessage): void => self.postMessage(message)

self.addEventListener('message', ({ data }: MessageEvent<VerifyRequest>) => {
  verifyDocument(data, (check) => send({ check })).then(
    (outcome) => send({ outcome }),
    (error: unknown) => send(error instanceof FieldError ? { problems: error.problems } : { message: String(error) }),
  )
})
