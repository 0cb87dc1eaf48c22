import { openS3Blobs } from '../../../adapters/s3/index.ts'
import { blobStoreContract, durableBlobStoreContract } from '../../contract/index.ts'
import { withService } from '../../support/s3-service.ts'

withService('S3 blobs on Ceph', (service) => {
  const open = async () => {
    const settings = service().settings()
    const prefix = settings.prefix ?? ''
    return {
      store: await openS3Blobs(settings),
      reopen: () => openS3Blobs(settings),
      staged: async () => [
        ...(await service().uploads(prefix)),
        ...(await service().objects(prefix)).filter((key) => key.includes('.')),
      ],
    }
  }
  blobStoreContract('S3', open)
  durableBlobStoreContract('S3', open)
})
