import type { EndpointRequest } from '../contract/endpoint.ts'
import type { ReplyCache } from '../contract/reply-cache.ts'
import type { AdmissionQueue } from './admission-queue.ts'
import type { AuthorizationServices } from './authorize.ts'
import type { BodyPace } from './guarded-body.ts'
import type { QueueName } from './load-limits.ts'
import type { LongPolls } from './long-polls.ts'
import type { LongResults } from './long-results.ts'
import type { MemoryBudget } from './memory-budget.ts'

/** What every endpoint is run with. */
export interface EndpointServices extends AuthorizationServices {
  readonly queues: ReadonlyMap<QueueName, AdmissionQueue>
  readonly bodies: MemoryBudget
  readonly unread: MemoryBudget
  readonly stalledReaderMs: number
  readonly uploads: { readonly pace: BodyPace; readonly maxFileBytes: number; readonly maxFilesPerRequest: number }
  /** The path of the service at its public address: empty, or such as `/registry`. */
  readonly publicPath: string
  readonly publicUrl: string | undefined
  readonly replyCache: ReplyCache
  readonly pageCache: ReplyCache
  readonly health: EndpointRequest['health']
  readonly longPolls: LongPolls
  readonly longResults: LongResults
}
